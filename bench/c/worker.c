/*
 * Runs one row as it is told. The driver (run.py) starts one worker per row and case, keeps the workers of a case alive
 * side by side and asks them in turn, so that whatever disturbs one disturbs its neighbours.
 *
 *     worker                      names of the rows
 *     worker ROW n=100000 ...     then commands on standard input, an answer for each on standard output
 *       run K      K bodies after K / 10 to warm up: ns per body, and page faults per body
 *       cold       one body, nothing before it: the same
 *       check      one body, compared byte by byte: "right" or "wrong"
 *       count      one body, counted by the preloaded counting library: JSON
 *       tell       what the row says of itself: JSON
 *       rest       nothing; answers "resting" (so that the driver can look at the process)
 *
 * Options: n, most, each, hint (bytes), length=known, pends=1 or 2 (job.h), heap=freed (a large block was freed before anything
 * else, so that glibc's thresholds are as in a program that has run for a while), threads, io=pipe|tcp|unix|file, path;
 * first_block, max_window: brimful's options.
 */
#define _GNU_SOURCE
#include "counts.h"
#include "job.h"
#include "writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_THREADS 16

void counts_begin(void) __attribute__((weak));
void counts_end(struct counts *out) __attribute__((weak));

static const struct row *row;
static struct job jobs[MOST_THREADS];
static unsigned threads = 1;
static struct writer *writer;
static pthread_barrier_t starts, stops;
static unsigned long bodies_each;

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_minflt;
}

static void begin_body(struct job *job)
{
  job->given = 0;
  job->shown = 0;
  job->pended = 0;
}

/* ns that `bodies` bodies took. With I/O the making of the connection is left out, and each body has its own clock. */
static double run(struct job *job, unsigned long bodies)
{
  double took = 0, started = now();
  if (writer == NULL) {
    for (unsigned long i = 0; i < bodies; i++) {
      begin_body(job);
      row->body(job);
    }
    return now() - started;
  }
  for (unsigned long i = 0; i < bodies; i++) {
    job->fd = writer_open(writer);
    begin_body(job);
    started = now();
    writer_go(writer);
    row->body(job);
    took += now() - started;
    writer_close(writer);
  }
  return took;
}

static void *run_thread(void *argument)
{
  struct job *job = argument;
  for (;;) {
    pthread_barrier_wait(&starts);
    run(job, bodies_each / 10 + 1);
    pthread_barrier_wait(&stops);
    pthread_barrier_wait(&starts);
    run(job, bodies_each);
    pthread_barrier_wait(&stops);
  }
  return NULL;
}

static double run_threads(unsigned long bodies)
{
  double started;
  bodies_each = bodies;
  pthread_barrier_wait(&starts);
  pthread_barrier_wait(&stops);
  started = now();
  pthread_barrier_wait(&starts);
  pthread_barrier_wait(&stops);
  return now() - started;
}

static void answer(double took, double faulted, unsigned long bodies)
{
  printf("%.3f %.3f\n", took / (double)bodies, faulted / (double)bodies);
}

static void count(void)
{
  struct counts seen;
  if (counts_begin == NULL)
    give_up("count needs the counting library, preloaded");
  jobs->counting = 1;
  begin_body(jobs);
  counts_begin();
  row->body(jobs);
  counts_end(&seen);
  jobs->counting = 0;
  printf("{\"allocations\": %llu, \"allocated\": %llu, \"peak\": %llu, \"copied\": %llu, \"waste\": %zu}\n",
         (unsigned long long)seen.allocations, (unsigned long long)seen.allocated, (unsigned long long)seen.peak,
         (unsigned long long)(seen.copied + jobs->copied_unseen), jobs->waste);
}

static void obey(const char *command)
{
  unsigned long bodies;
  if (sscanf(command, "run %lu", &bodies) == 1 && bodies > 0) {
    double before, took;
    if (threads > 1) {
      before = faults();
      took = run_threads(bodies);
    } else {
      run(jobs, bodies / 10 + 1);
      before = faults();
      took = run(jobs, bodies);
    }
    answer(took, faults() - before, bodies);
  } else if (strcmp(command, "cold\n") == 0) {
    double before = faults(), took = run(jobs, 1);
    answer(took, faults() - before, 1);
  } else if (strcmp(command, "check\n") == 0) {
    jobs->checking = 1;
    run(jobs, 1);
    jobs->checking = 0;
    puts(jobs->wrong || jobs->shown != jobs->n ? "wrong" : "right");
  } else if (strcmp(command, "count\n") == 0) {
    count();
  } else if (strcmp(command, "tell\n") == 0) {
    putchar('{');
    if (row->tell != NULL)
      row->tell(jobs);
    puts("}");
  } else if (strcmp(command, "rest\n") == 0) {
    puts("resting");
  } else {
    give_up("no such command");
  }
  fflush(stdout);
}

/* As in a program that has run for a while: glibc now keeps what it is given back, and maps less by itself. */
static void free_a_large_block(void)
{
  size_t size = (32u << 20) - (64u << 10);
  char *memory = malloc(size);
  if (memory == NULL)
    give_up("no memory");
  memset(memory, 1, size);
  __asm__ volatile("" : : "r"(memory) : "memory");
  free(memory);
}

static const char *option(int count, char **arguments, const char *name)
{
  size_t length = strlen(name);
  for (int i = 2; i < count; i++)
    if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=')
      return arguments[i] + length + 1;
  return NULL;
}

static uint64_t number(int count, char **arguments, const char *name, uint64_t otherwise)
{
  const char *text = option(count, arguments, name);
  return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

int main(int count, char **arguments)
{
  char command[64];
  const char *text;
  for (row = rows; row->name != NULL; row++) {
    if (count < 2)
      puts(row->name);
    else if (strcmp(row->name, arguments[1]) == 0)
      break;
  }
  if (row->name == NULL)
    return count < 2 ? 0 : (fprintf(stderr, "bench: no row %s\n", arguments[1]), 2);
  if ((text = option(count, arguments, "heap")) != NULL && strcmp(text, "freed") == 0)
    free_a_large_block();
  threads = (unsigned)number(count, arguments, "threads", 1);
  if (threads < 1 || threads > MOST_THREADS)
    give_up("threads go from 1 to 16");
  jobs->n = number(count, arguments, "n", 0);
  jobs->most = number(count, arguments, "most", SIZE_MAX);
  jobs->each = number(count, arguments, "each", jobs->most);
  if (jobs->each > WARM_BLOCK)
    jobs->each = WARM_BLOCK;
  jobs->hint = number(count, arguments, "hint", NOT_KNOWN);
  jobs->length = (text = option(count, arguments, "length")) != NULL && strcmp(text, "known") == 0 ? jobs->n : NOT_KNOWN;
  jobs->first_block = number(count, arguments, "first_block", 0);
  jobs->max_window = number(count, arguments, "max_window", 0);
  jobs->pends = (int)number(count, arguments, "pends", 0);
  jobs->fd = -1;
  if ((text = option(count, arguments, "io")) != NULL)
    writer = writer_new(text, option(count, arguments, "path"), jobs->n);
  if (row->begin != NULL)
    row->begin(jobs);
  if (threads > 1) {
    pthread_t thread;
    pthread_barrier_init(&starts, NULL, threads + 1);
    pthread_barrier_init(&stops, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
      if (i > 0)
        jobs[i] = jobs[0];
      pthread_create(&thread, NULL, run_thread, &jobs[i]);
    }
  }
  puts("ready");
  fflush(stdout);
  while (fgets(command, sizeof command, stdin) != NULL)
    obey(command);
  if (threads == 1 && row->end != NULL)
    row->end(jobs);
  exit(0);
}
