/* The bytes: copies from a block that stays warm, or read(2) from what a writer on another thread writes. */
#include "job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned char source_block[WARM_BLOCK + PERIOD];

__attribute__((constructor)) static void fill_block(void)
{
  for (size_t i = 0; i < sizeof source_block; i++)
    source_block[i] = (unsigned char)(i % PERIOD);
}

void give_up(const char *what)
{
  fprintf(stderr, "bench: %s\n", what);
  exit(3);
}

static void copy(const struct job *job, unsigned char *target, const unsigned char *from, size_t length)
{
  if (!job->counting) {
    memcpy(target, from, length);
    return;
  }
  __asm__ volatile("rep movsb" : "+D"(target), "+S"(from), "+c"(length) : : "memory");
}

__attribute__((noinline)) int32_t source_read(void *context, void *window, size_t room, size_t *filled)
{
  struct job *job = context;
  if (job->fd >= 0) {
    ssize_t count;
    do
      count = read(job->fd, window, room);
    while (count < 0 && errno == EINTR);
    if (count < 0)
      give_up("read failed");
    *filled = (size_t)count;
    return 0;
  }
  if (job->pends == 1 && job->given > 0 && job->given < job->n) {
    job->pended = !job->pended;
    if (job->pended)
      return 1;
  }
  size_t count = job->n - job->given;
  if (count > room)
    count = room;
  if (count > job->most)
    count = job->most;
  for (size_t done = 0; done < count;) {
    size_t piece = count - done < WARM_BLOCK ? count - done : WARM_BLOCK;
    copy(job, (unsigned char *)window + done, source_block + (job->given + done) % PERIOD, piece);
    done += piece;
  }
  job->given += count;
  *filled = count;
  return job->pends == 2 && job->given < job->n;
}

__attribute__((noinline)) void compare(struct job *job, const void *data, size_t length)
{
  for (size_t at = 0; at < length;) {
    size_t piece = length - at < WARM_BLOCK ? length - at : WARM_BLOCK;
    if (memcmp((const char *)data + at, source_block + (job->shown + at) % PERIOD, piece) != 0) {
      job->wrong = 1;
      return;
    }
    at += piece;
  }
}
