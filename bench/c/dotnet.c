/*
 * Ways of reading that .NET has had, made again in C from their public description (dotnet/runtime#109642 for the
 * first three, dotnet/SqlClient#285 for the other two), so that they run in the same harness. What .NET's runtime does
 * for a fresh array is done here too: it is cleared.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16384
#define SHELVES 40

static void *fresh(size_t size)
{
  void *memory = calloc(1, size > 0 ? size : 1);
  if (memory == NULL)
    give_up("no memory");
  return memory;
}

/* ---- 1: a MemoryStream. Its array doubles, from 256 bytes on, each a fresh one; the result is one more, of the length. */

static void memory_stream(struct job *job)
{
  size_t room = 256, have = 0, filled;
  static __thread char piece[81920]; /* what Stream.CopyTo reads into; from a pool there, so warm here */
  char *array = fresh(room);
  for (;;) {
    filled = 0;
    if (source_read(job, piece, sizeof piece, &filled) == 0 && filled == 0)
      break;
    if (have + filled > room) {
      size_t larger = room * 2 > have + filled ? room * 2 : have + filled;
      char *next = fresh(larger);
      memcpy(next, array, have);
      free(array);
      array = next;
      room = larger;
    }
    memcpy(array + have, piece, filled);
    have += filled;
  }
  char *result = fresh(have);
  memcpy(result, array, have);
  free(array);
  show(job, result, have);
  free(result);
}

/* ---- a pool of arrays, one shelf per power of two, as ArrayPool.Shared has for a thread */

struct shelves {
  void *array[SHELVES];
};

static void *rent(struct job *job, unsigned power)
{
  struct shelves *shelves = job->own != NULL ? job->own : (job->own = fresh(sizeof *shelves));
  void *array = shelves->array[power];
  shelves->array[power] = NULL;
  if (array == NULL && (array = malloc((size_t)1 << power)) == NULL) /* pooled arrays are not cleared */
    give_up("no memory");
  return array;
}

static void give_back(struct job *job, void *array, unsigned power)
{
  struct shelves *shelves = job->own;
  if (shelves->array[power] != NULL)
    free(array);
  else
    shelves->array[power] = array;
}

/* ---- 2: one pooled buffer that doubles, and one exact copy */

static void one_pooled(struct job *job)
{
  unsigned power = 14;
  size_t have = 0, filled;
  char *array = rent(job, power);
  for (;;) {
    if (have == (size_t)1 << power) {
      char *next = rent(job, power + 1);
      memcpy(next, array, have);
      give_back(job, array, power++);
      array = next;
    }
    filled = 0;
    if (source_read(job, array + have, ((size_t)1 << power) - have, &filled) == 0 && filled == 0)
      break;
    have += filled;
  }
  char *result = fresh(have);
  memcpy(result, array, have);
  give_back(job, array, power);
  show(job, result, have);
  free(result);
}

/* ---- 3: a list of ever-larger pooled buffers; looked at in place, or copied once into the exact result */

struct list {
  char *arrays[SHELVES];
  size_t used[SHELVES];
  unsigned count;
  size_t have;
};

static void read_into_list(struct job *job, struct list *list)
{
  size_t filled;
  list->count = 0;
  list->have = 0;
  for (;;) {
    if (list->count == 0 || list->used[list->count - 1] == (size_t)FIRST << (list->count - 1)) {
      list->arrays[list->count] = rent(job, 14 + list->count);
      list->used[list->count++] = 0;
    }
    unsigned last = list->count - 1;
    filled = 0;
    if (source_read(job, list->arrays[last] + list->used[last], ((size_t)FIRST << last) - list->used[last], &filled) == 0
        && filled == 0)
      return;
    list->used[last] += filled;
    list->have += filled;
  }
}

static void give_list_back(struct job *job, struct list *list)
{
  for (unsigned i = 0; i < list->count; i++)
    give_back(job, list->arrays[i], 14 + i);
}

static void list_pooled(struct job *job)
{
  struct list list;
  read_into_list(job, &list);
  for (unsigned i = 0; i < list.count; i++)
    show(job, list.arrays[i], list.used[i]);
  job->waste = ((size_t)FIRST << (list.count - 1)) - list.used[list.count - 1];
  give_list_back(job, &list);
}

static void list_exact(struct job *job)
{
  struct list list;
  size_t at = 0;
  read_into_list(job, &list);
  char *result = fresh(list.have);
  for (unsigned i = 0; i < list.count; i++) {
    memcpy(result + at, list.arrays[i], list.used[i]);
    at += list.used[i];
  }
  give_list_back(job, &list);
  show(job, result, at);
  free(result);
}

/*
 * ---- a value of known length that arrives in packets, read by an attempt that cannot be suspended: whenever a packet
 * has come, the read starts again at the first one. The packets that have come are kept; here they lie in source_block.
 * Replay makes its target anew in each attempt; replay with cached target keeps it.
 */

static void replay_with(struct job *job, int keeps)
{
  char *target = keeps ? fresh(job->n) : NULL;
  for (size_t came = 0; came < job->n;) {
    came = job->n - came < job->most ? job->n : came + job->most;
    if (!keeps) {
      free(target);
      target = fresh(job->n);
    }
    job->given = 0;
    for (size_t have = 0; have < came;) {
      size_t filled = 0;
      source_read(job, target + have, came - have < job->most ? came - have : job->most, &filled);
      have += filled;
    }
    __asm__ volatile("" : : "r"(target) : "memory");
  }
  show(job, target, job->n);
  free(target);
}

static void replay(struct job *job)
{
  replay_with(job, 0);
}

static void replay_cached(struct job *job)
{
  replay_with(job, 1);
}

const struct row rows[] = {
  { "dotnet-memory-stream", memory_stream, NULL, NULL, NULL },
  { "dotnet-one-pooled", one_pooled, NULL, NULL, NULL },
  { "dotnet-list-exact", list_exact, NULL, NULL, NULL },
  { "dotnet-list-pooled", list_pooled, NULL, NULL, NULL },
  { "replay", replay, NULL, NULL, NULL },
  { "replay-cached", replay_cached, NULL, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
