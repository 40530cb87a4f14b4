/*
 * What has come on a socket and has not been used yet.
 *
 * Heads and small values are found in a few kilobytes that are read ahead. A large value is not: what of its first
 * bytes was read ahead is written to its collector, and the rest goes from the socket straight into the collector's
 * memory.
 *
 * Every function can stop at any byte. It answers
 *   BRIMFUL_OK            done
 *   BRIMFUL_PENDING       the socket has nothing now; call again when it is readable, nothing is lost
 *   BRIMFUL_MORE          this call has had its share; the same, so that one connection cannot hold an event loop
 *   BRIMFUL_ERR_SHORT     the server has closed the connection
 *   BRIMFUL_ERR_SOURCE    reading failed; errno says why
 */
#ifndef POSTGRES_INPUT_H
#define POSTGRES_INPUT_H

#include <brimful.h>

#define INPUT_SHARE 262144 /* the most bytes that one call takes from a socket */

struct input {
  int socket;
  size_t at, end; /* what of `bytes` has not been used */
  unsigned char bytes[8192];
};

/* Shows the next `length` bytes, at most 8, in one piece at *field, until the next call. */
brimful_status input_field(struct input *input, size_t length, const unsigned char **field);

/* Feeds a collector whose options.length is known; *left is how many bytes of that length are still to come from here.
   The collector's own errors are answered too; then *left is what has to be skipped to stay in step. */
brimful_status input_collect(struct input *input, brimful_collector *collector, uint64_t *left);

/* Takes *left bytes and forgets them. */
brimful_status input_skip(struct input *input, uint64_t *left);

static inline uint32_t number32(const unsigned char *field)
{
  return (uint32_t)field[0] << 24 | (uint32_t)field[1] << 16 | (uint32_t)field[2] << 8 | field[3];
}

static inline uint32_t number16(const unsigned char *field)
{
  return (uint32_t)field[0] << 8 | field[1];
}

#endif
