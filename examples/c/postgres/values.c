/*
 * Reads values from a PostgreSQL server, over many connections in one loop that never blocks.
 *
 *     cc *.c $(pkg-config --cflags --libs brimful) -o values
 *     ./values PORT USER DATABASE [OPTION]... QUERY...
 *
 *     --simple, --text, --binary  how to ask, and in which format values come (binary)
 *     --exact                     into memory of exactly the value's length, not a pooled buffer
 *     --limit N                   refuse larger values
 *     --cancel-at N               let go of the first query once N bytes of a value have come
 *     --connections N             make N connections, each of which asks all queries
 *
 * PGPASSWORD in the environment is the password. Prints a line of JSON for each value, error and connection that is
 * lost; the exit status is 1 where there was one of the latter two.
 */
#include "connection.h"

#include "../sha256.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct request {
  enum query_format format;
  brimful_options options;
  uint64_t cancel_at;
  char **queries; /* up to a NULL */
};

struct reader {
  struct connection *connection;
  int number, asked; /* how many of the queries */
  short waits_for;
  brimful_cancel *cancel; /* of the first query, where that is to be cancelled */
};

static int failures;

static void fail(const char *what, const char *why)
{
  fprintf(stderr, "values: %s: %s\n", what, why);
  exit(2);
}

static void print_text(const char *name, const char *text)
{
  printf(", \"%s\": \"", name);
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else
      printf((unsigned char)*text < ' ' ? "\\u%04x" : "%c", (unsigned char)*text);
  }
  printf("\"");
}

static void print_value(const struct value *value)
{
  struct sha256 hash;
  brimful_slice piece;
  char hex[65];
  printf(", \"row\": %" PRIu64 ", \"column\": %u", value->row, value->column);
  if (value->is_null) {
    printf(", \"status\": \"null\"");
    return;
  }
  sha256_begin(&hash);
  if (value->exact != NULL)
    sha256_add(&hash, value->exact, value->length);
  for (size_t i = 0; value->pooled != NULL && brimful_buffer_segments(value->pooled, i, &piece, 1) == 1; i++)
    sha256_add(&hash, piece.data, piece.length);
  sha256_end(&hash, hex);
  printf(", \"status\": \"%s\", \"length\": %zu", brimful_status_name(value->status), value->length);
  printf(", \"sha256\": \"%s\"", hex);
  printf(", \"announced\": %" PRIu64 ", \"received\": %" PRIu64 ", \"pendings\": %" PRIu64 ", \"copied\": %" PRIu64
         ", \"allocations\": %" PRIu64 ", \"peak_held\": %" PRIu64,
         value->info.expected, value->info.received, value->info.pendings, value->info.copied, value->info.allocations,
         value->info.peak_held);
}

static void ask(struct reader *reader, const struct request *request)
{
  brimful_options options = request->options;
  if (reader->asked == 0 && request->cancel_at != BRIMFUL_UNLIMITED) {
    if (brimful_cancel_new(&reader->cancel) != BRIMFUL_OK)
      fail("cancel", "no memory");
    options.cancel = reader->cancel;
  }
  brimful_status status =
      connection_query(reader->connection, request->queries[reader->asked++], request->format, &options);
  if (status != BRIMFUL_OK)
    fail("query", brimful_status_text(status));
}

/* Everything that a connection can do now; 0 when it has nothing more to do. */
static int serve(struct reader *reader, const struct request *request)
{
  struct value value;
  for (;;) {
    enum event event = connection_next(reader->connection, &value);
    switch (event) {
    case EVENT_WAIT:
      if (reader->asked == 1 && connection_received(reader->connection) >= request->cancel_at)
        brimful_cancel_trigger(reader->cancel);
      return 1;
    case EVENT_READY:
      if (request->queries[reader->asked] == NULL)
        return 0;
      ask(reader, request);
      break;
    case EVENT_VALUE:
    case EVENT_ERROR:
    case EVENT_LOST:
      printf("{\"connection\": %d, \"query\": %d", reader->number, reader->asked - 1);
      if (event == EVENT_VALUE) {
        print_value(&value);
        value_free(&value);
      } else {
        print_text(event == EVENT_ERROR ? "error" : "lost", reader->connection->text);
        failures++;
      }
      printf("}\n");
      if (event == EVENT_LOST)
        return 0;
    }
  }
}

static void watch(int loop, int operation, struct reader *reader)
{
  struct epoll_event event = { .events = (uint32_t)reader->waits_for, .data.ptr = reader };
  if (epoll_ctl(loop, operation, reader->connection->input.socket, &event) != 0)
    fail("epoll_ctl", strerror(errno));
}

/* Serves the connection, and then waits for what it wants next. */
static int turn(int loop, struct reader *reader, const struct request *request)
{
  int new = reader->waits_for == 0;
  if (!serve(reader, request)) {
    connection_free(reader->connection); /* which takes it out of the loop too */
    brimful_cancel_release(reader->cancel);
    return 0;
  }
  short wants = connection_wants(reader->connection);
  if (wants != reader->waits_for) {
    reader->waits_for = wants;
    watch(loop, new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, reader);
  }
  return 1;
}

static void run(const struct account *account, const struct request *request, int count)
{
  struct epoll_event ready[64];
  struct reader *readers = calloc((size_t)count, sizeof *readers);
  int loop = epoll_create1(EPOLL_CLOEXEC), open = 0;
  if (readers == NULL || loop < 0)
    fail("loop", strerror(errno));
  for (int i = 0; i < count; i++) {
    readers[i].number = i;
    readers[i].connection = connection_open(account, NULL);
    if (readers[i].connection == NULL)
      fail("connection", "no memory");
    open += turn(loop, &readers[i], request);
  }
  while (open > 0) {
    int some = epoll_wait(loop, ready, 64, -1);
    for (int i = 0; i < some; i++)
      open -= !turn(loop, ready[i].data.ptr, request);
  }
  free(readers);
}

static uint64_t number(const char *text)
{
  char *end;
  errno = 0;
  unsigned long long number = text == NULL ? 0 : strtoull(text, &end, 10);
  if (text == NULL || *text < '0' || *text > '9' || *end != '\0' || errno != 0)
    fail(text == NULL ? "an option at the end" : text, "expected a number of bytes or connections");
  return number;
}

int main(int count, char **arguments)
{
  struct request request = { QUERY_BINARY, BRIMFUL_OPTIONS_INIT, BRIMFUL_UNLIMITED, NULL };
  int connections = 1, at = 4;
  if (count < 5)
    fail("usage", "values PORT USER DATABASE [OPTION]... QUERY...");
  struct account account = { "127.0.0.1", arguments[1], arguments[2], getenv("PGPASSWORD"), arguments[3] };
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
    const char *option = arguments[at];
    if (strcmp(option, "--simple") == 0)
      request.format = QUERY_SIMPLE;
    else if (strcmp(option, "--text") == 0)
      request.format = QUERY_TEXT;
    else if (strcmp(option, "--binary") == 0)
      request.format = QUERY_BINARY;
    else if (strcmp(option, "--exact") == 0)
      request.options.prefer = BRIMFUL_PREFER_EXACT;
    else if (strcmp(option, "--limit") == 0)
      request.options.limit = number(arguments[++at]);
    else if (strcmp(option, "--cancel-at") == 0)
      request.cancel_at = number(arguments[++at]);
    else if (strcmp(option, "--connections") == 0)
      connections = (int)number(arguments[++at]);
    else
      fail(option, "no such option");
  }
  request.queries = arguments + at;
  run(&account, &request, connections);
  return failures > 0;
}
