/*
 * What a row is, and what it is given. A row is one way of reading a whole body into memory: it takes bytes from its
 * job's source until the body ends, shows the result, and frees it. worker.c runs it, times it, and checks what it shows.
 */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOT_KNOWN UINT64_MAX

/* The content of every body: byte i is i mod PERIOD. The block is as long as one copy from it, plus one period. */
#define PERIOD 251
#define WARM_BLOCK (64 * 1024)
extern unsigned char source_block[WARM_BLOCK + PERIOD];

struct job {
  size_t n;         /* bytes of the body; the row may look at it only where `length` says so */
  uint64_t length;  /* n, or NOT_KNOWN */
  uint64_t hint;    /* about how many, or NOT_KNOWN */
  size_t most;      /* the most that the source gives at once */
  size_t each;      /* bytes of a push, for rows that push */
  uint64_t first_block, max_window; /* brimful's own options of these names; 0: its defaults */
  int pends;        /* after each answer the source has nothing now: 1 says so in a call of its own, 2 with the bytes */
  int fd;           /* where the source reads from, or -1: from source_block */
  size_t given;     /* bytes that the source gave of this body */
  int pended;
  int checking;     /* compare what is shown */
  int counting;     /* copy in a way that the counting library does not see */
  size_t shown;     /* bytes of the result seen so far */
  size_t waste;     /* bytes that the result held beyond its length */
  size_t copied_unseen; /* bytes that the row copied where the counting library does not look, at least */
  int wrong;
  void *shared;     /* the row's own, one for all threads */
  void *own;        /* the row's own, one per thread */
};

struct row {
  const char *name;
  void (*body)(struct job *job);
  void (*begin)(struct job *job);     /* may be NULL; once, on the first thread's job */
  void (*end)(struct job *job);       /* may be NULL */
  void (*tell)(const struct job *job);/* may be NULL: prints what the row knows of itself as members of a JSON object */
};

/* Each program has one table of rows, ended by a row without a name. */
extern const struct row rows[];

/*
 * The source of every row, never inlined: 0 and *filled bytes, 0 bytes at the end of the body; 1 where there is nothing
 * now. It has the form of brimful_read_fn so that no row pays for a wrapper.
 */
int32_t source_read(void *job, void *window, size_t room, size_t *filled);

/* The bytes of the body from `position` on, at most `length`, for rows that push: where they lie and how many. */
static inline size_t source_piece(const struct job *job, size_t position, const unsigned char **piece)
{
  size_t rest = job->n - position;
  *piece = source_block + position % PERIOD;
  return rest < job->each ? rest : job->each;
}

void compare(struct job *job, const void *data, size_t length);

/* Every piece of every result goes through here, in order, so that no compiler drops what nobody reads. */
static inline void show(struct job *job, const void *data, size_t length)
{
  __asm__ volatile("" : : "r"(data), "r"(length) : "memory");
  if (job->checking)
    compare(job, data, length);
  job->shown += length;
}

/* Ends the program with a word on what could not be done. */
__attribute__((noreturn)) void give_up(const char *what);

#ifdef __cplusplus
}
#endif
#endif
