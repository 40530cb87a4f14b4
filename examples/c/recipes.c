/*
 * The code of docs/recipes.md: reads a connection of values over many packets (framed.h) from stdin, without blocking, and
 * tells each value's length and SHA-256. Value number N, where it is given, is given up when nothing comes for a while.
 *
 *     cc recipes.c framed.c $(pkg-config --cflags --libs brimful) && ./a.out [N] < CONNECTION
 */
#include "framed.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE 300 /* milliseconds */
#define END 1000     /* the connection has ended between two values */

struct connection {
  int descriptor; /* does not block */
  struct framed decoder;
  size_t at, length; /* of the bytes: what is still to be fed */
  unsigned char bytes[8000];
};

/* Goes on with the value that is under way. BRIMFUL_PENDING: call again when the descriptor is readable. */
static brimful_status next_value(struct connection *connection)
{
  for (;;) {
    if (connection->at < connection->length) {
      size_t used;
      brimful_status status = framed_feed(&connection->decoder, connection->bytes + connection->at,
                                          connection->length - connection->at, &used);
      connection->at += used;
      if (status != BRIMFUL_PENDING)
        return status; /* a value has ended, or the connection is broken */
    }
    ssize_t count = read(connection->descriptor, connection->bytes, sizeof connection->bytes);
    if (count < 0)
      return errno == EAGAIN || errno == EINTR ? BRIMFUL_PENDING : BRIMFUL_ERR_SOURCE;
    if (count == 0)
      return framed_end(&connection->decoder) == BRIMFUL_OK ? END : BRIMFUL_ERR_SHORT;
    connection->at = 0;
    connection->length = (size_t)count;
  }
}

static void wait_until_readable(struct connection *connection, int gives_up)
{
  struct pollfd one = { connection->descriptor, POLLIN, 0 };
  if (poll(&one, 1, gives_up ? PATIENCE : -1) > 0)
    return;
  framed_cancel(&connection->decoder); /* what came is dropped, what comes is passed over; then it ends as cancelled */
  printf("%llu: given up\n", (unsigned long long)connection->decoder.values);
}

static void tell_hash(const void *data, size_t length, char text[65])
{
  struct sha256 hash;
  sha256_begin(&hash);
  sha256_add(&hash, data, length);
  sha256_end(&hash, text);
}

/* Takes the value that has ended. Its memory serves the values after it, as soon as it is released. */
static brimful_status take_value(struct framed *decoder)
{
  unsigned long long number = decoder->values - 1;
  char hash[65];
  brimful_buffer *value;
  const void *data;
  size_t length;
  if (decoder->outcome != BRIMFUL_OK) { /* this value alone; the next one is in step */
    printf("%llu: %s\n", number, brimful_status_name(decoder->outcome));
    return BRIMFUL_OK;
  }
  if (decoder->missing) { /* not the same as an empty one */
    printf("%llu: missing\n", number);
    return BRIMFUL_OK;
  }
  brimful_status status = brimful_collector_finish(decoder->collector, &value);
  if (status != BRIMFUL_OK)
    return status;
  status = brimful_buffer_data(value, &data, &length);
  if (status == BRIMFUL_OK) {
    tell_hash(data, length, hash);
    printf("%llu: %zu bytes, %s\n", number, length, hash);
  }
  brimful_buffer_release(value);
  return status;
}

int main(int count, char **arguments)
{
  static struct connection connection;
  uint64_t unwanted = count > 1 ? strtoull(arguments[1], NULL, 10) : UINT64_MAX;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.limit = 100000000; /* of each value */
  setvbuf(stdout, NULL, _IOLBF, 0);
  fcntl(connection.descriptor, F_SETFL, O_NONBLOCK);
  brimful_status status = framed_open(&connection.decoder, NULL, &options);
  while (status == BRIMFUL_OK || status == BRIMFUL_PENDING) {
    status = next_value(&connection);
    if (status == BRIMFUL_PENDING)
      wait_until_readable(&connection, connection.decoder.values == unwanted);
    else if (status == BRIMFUL_OK)
      status = take_value(&connection.decoder);
  }
  framed_close(&connection.decoder);
  if (status != END)
    fprintf(stderr, "%s\n", status == FRAMED_BROKEN ? "broken" : brimful_status_text(status));
  return status == END ? 0 : 1;
}
