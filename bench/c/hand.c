/* What one writes by hand in C, and the limit: the source's copies alone, into memory that is there and warm. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not to be taken for a known function by the compiler. */
static int32_t (*volatile source)(void *, void *, size_t, size_t *) = source_read;

static void *must(void *memory)
{
  if (memory == NULL)
    give_up("no memory");
  return memory;
}

/* ---- the limit */

static void limit_begin(struct job *job)
{
  job->shared = must(malloc(job->n + 1));
  memset(job->shared, 1, job->n + 1);
}

/* Each thread its own memory. */
static void limit(struct job *job)
{
  size_t have = 0, filled = 1;
  if (job->own == NULL) {
    job->own = must(malloc(job->n + 1));
    memset(job->own, 1, job->n + 1);
  }
  while (filled > 0 && have < job->n) {
    filled = 0;
    source(job, (char *)job->own + have, job->n - have, &filled);
    have += filled;
  }
  show(job, job->own, have);
}

static void limit_warm(struct job *job)
{
  limit_begin(job);
  job->own = job->shared;
}

/* ---- length known: malloc(N), read, free. As read(2) and malloc(3) show. */

static void known(struct job *job)
{
  char *memory = must(malloc(job->n > 0 ? job->n : 1));
  size_t have = 0, filled = 1;
  while (have < job->n && filled > 0) {
    filled = 0;
    source(job, memory + have, job->n - have, &filled);
    have += filled;
  }
  show(job, memory, have);
  free(memory);
}

/* ---- length unknown: realloc doubling, and a last realloc to the length. As realloc(3) and every textbook show. It begins
   with 4096 bytes: beginning with 64 was 15 ns better at 100 bytes, 130 ns worse at 1 kB, and the same from 100 kB on. */

static void doubling(struct job *job)
{
  size_t room = 4096, have = 0, filled = 1;
  char *memory = must(malloc(room));
  for (;;) {
    if (have == room)
      memory = must(realloc(memory, room *= 2));
    filled = 0;
    if (source(job, memory + have, room - have, &filled) == 0 && filled == 0)
      break;
    have += filled;
  }
  memory = must(realloc(memory, have > 0 ? have : 1));
  show(job, memory, have);
  free(memory);
}

/* The same where the program does not care how much is left over. */
static void doubling_loose(struct job *job)
{
  size_t room = 4096, have = 0, filled = 1;
  char *memory = must(malloc(room));
  while (filled > 0) {
    if (have == room)
      memory = must(realloc(memory, room *= 2));
    filled = 0;
    source(job, memory + have, room - have, &filled);
    have += filled;
  }
  job->waste = room - have;
  show(job, memory, have);
  free(memory);
}

/* libcurl's example getinmemory.c (https://curl.se/libcurl/c/getinmemory.html), in our words: pieces of at most 16 KiB
   (CURL_MAX_WRITE_SIZE) are appended by a realloc to the new length each, and one byte. */
static void by_piece(struct job *job)
{
  static __thread char piece[16384];
  char *memory = must(malloc(1));
  size_t have = 0, filled = 1;
  for (;;) {
    filled = 0;
    if (source(job, piece, sizeof piece, &filled) == 0 && filled == 0)
      break;
    memory = must(realloc(memory, have + filled + 1));
    memcpy(memory + have, piece, filled);
    have += filled;
    memory[have] = 0;
  }
  show(job, memory, have);
  free(memory);
}

/* ---- open_memstream(3): written with fwrite from a buffer that stays warm */

static void memstream(struct job *job)
{
  static __thread char piece[WARM_BLOCK];
  char *memory;
  size_t length, filled;
  FILE *stream = must(open_memstream(&memory, &length));
  for (;;) {
    filled = 0;
    if (source(job, piece, sizeof piece, &filled) == 0 && filled == 0)
      break;
    if (fwrite(piece, 1, filled, stream) != filled)
      give_up("fwrite failed");
  }
  fclose(stream);
  job->copied_unseen = length; /* by fwrite, at least; what it moves as it grows is not to be seen from outside */
  show(job, memory, length);
  free(memory);
}

static void memstream_push(struct job *job)
{
  const unsigned char *piece;
  char *memory;
  size_t length;
  FILE *stream = must(open_memstream(&memory, &length));
  for (size_t at = 0; at < job->n;) {
    size_t count = source_piece(job, at, &piece);
    if (count == 1)
      putc_unlocked(*piece, stream); /* unlocked_stdio(3): its best setting on one thread */
    else
      fwrite(piece, 1, count, stream);
    at += count;
  }
  fclose(stream);
  show(job, memory, length);
  free(memory);
}

static void doubling_push(struct job *job)
{
  const unsigned char *piece;
  size_t room = 64, have = 0;
  char *memory = must(malloc(room));
  while (have < job->n) {
    size_t count = source_piece(job, have, &piece);
    while (count > room - have)
      memory = must(realloc(memory, room *= 2));
    memcpy(memory + have, piece, count);
    have += count;
    __asm__ volatile("" : : "r"(memory) : "memory"); /* each push is one */
  }
  memory = must(realloc(memory, have > 0 ? have : 1));
  show(job, memory, have);
  free(memory);
}

const struct row rows[] = {
  { "limit", limit, limit_warm, NULL, NULL },
  { "limit-threads", limit, NULL, NULL, NULL },
  { "malloc-known", known, NULL, NULL, NULL },
  { "realloc", doubling, NULL, NULL, NULL },
  { "realloc-loose", doubling_loose, NULL, NULL, NULL },
  { "realloc-by-piece", by_piece, NULL, NULL, NULL },
  { "memstream", memstream, NULL, NULL, NULL },
  { "memstream-push", memstream_push, NULL, NULL, NULL },
  { "realloc-push", doubling_push, NULL, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
