/*
 * What a small body costs: ns per body of 100 bytes (or of the sizes given as arguments), each way of brimful beside
 * what one writes by hand. All ways run in turn in each round, so that whatever disturbs one disturbs its neighbours;
 * told are the median over the rounds, and the median of the ratios taken round by round.
 */
#include <brimful.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 41
#define BODIES 20000

static size_t size = 100;
static char body[1 << 20];

/* Keeps the compiler from seeing that nobody reads the result. */
static void use(const void *memory)
{
  __asm__ volatile("" : : "r"(memory) : "memory");
}

/* A source that fills any window at once from warm memory. */
struct source {
  size_t given;
};

static brimful_status fill(void *context, void *window, size_t room, size_t *filled)
{
  struct source *source = context;
  size_t count = size - source->given < room ? size - source->given : room;
  memcpy(window, body + source->given, count);
  source->given += count;
  *filled = count;
  return BRIMFUL_OK;
}

/* The same source for what is written by hand: a call through a pointer too. */
static brimful_status (*volatile source_of_hand)(void *, void *, size_t, size_t *) = fill;

static void check(brimful_status status)
{
  if (status != BRIMFUL_OK) {
    fprintf(stderr, "overhead: %s\n", brimful_status_name(status));
    exit(1);
  }
}

static void known_by_hand(void)
{
  struct source source = { 0 };
  char *memory = malloc(size);
  size_t have = 0, filled = 0;
  while (have < size) {
    source_of_hand(&source, memory + have, size - have, &filled);
    have += filled;
  }
  use(memory);
  free(memory);
}

static void unknown_by_hand(void)
{
  struct source source = { 0 };
  size_t room = 64, have = 0, filled = 1;
  char *memory = malloc(room);
  while (filled > 0) {
    if (have == room)
      memory = realloc(memory, room *= 2);
    filled = 0;
    source_of_hand(&source, memory + have, room - have, &filled);
    have += filled;
  }
  use(memory);
  free(memory);
}

static void pooled_pull(void)
{
  struct source source = { 0 };
  brimful_buffer *buffer;
  const void *data;
  size_t length;
  check(brimful_collect(NULL, NULL, fill, &source, &buffer, NULL));
  check(brimful_buffer_data(buffer, &data, &length));
  use(data);
  brimful_buffer_release(buffer);
}

static void exact_known_pull(void)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = { 0 };
  void *data;
  size_t length;
  options.length = size;
  check(brimful_collect_exact(NULL, &options, fill, &source, &data, &length, NULL));
  use(data);
  free(data);
}

static void exact_unknown_pull(void)
{
  struct source source = { 0 };
  void *data;
  size_t length;
  check(brimful_collect_exact(NULL, NULL, fill, &source, &data, &length, NULL));
  use(data);
  free(data);
}

static brimful_collector *kept;

static void push_to_a_kept_collector(void)
{
  brimful_buffer *buffer;
  const void *data;
  size_t length;
  check(brimful_collector_reset(kept, NULL));
  check(brimful_collector_write(kept, body, size, NULL));
  check(brimful_collector_end(kept));
  check(brimful_collector_finish(kept, &buffer));
  check(brimful_buffer_data(buffer, &data, &length));
  use(data);
  brimful_buffer_release(buffer);
}

static void push_to_a_new_collector(void)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  check(brimful_collector_new(NULL, NULL, &collector));
  check(brimful_collector_write(collector, body, size, NULL));
  check(brimful_collector_end(collector));
  check(brimful_collector_finish(collector, &buffer));
  use(buffer);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

static const struct {
  const char *name;
  void (*run)(void);
  int beside; /* which way by hand it stands beside */
} ways[] = {
  { "by hand, known: malloc(N), read, free", known_by_hand, 0 },
  { "by hand, unknown: realloc doubling", unknown_by_hand, 1 },
  { "brimful_collect: pooled, unknown", pooled_pull, 1 },
  { "brimful_collect_exact: known", exact_known_pull, 0 },
  { "brimful_collect_exact: unknown", exact_unknown_pull, 1 },
  { "push to a kept collector, pooled", push_to_a_kept_collector, 1 },
  { "push to a new collector, pooled", push_to_a_new_collector, 1 },
};
#define WAYS (sizeof ways / sizeof *ways)

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static double median(const double *values)
{
  double sorted[ROUNDS];
  memcpy(sorted, values, sizeof sorted);
  qsort(sorted, ROUNDS, sizeof *sorted, by_value);
  return sorted[ROUNDS / 2];
}

static void measure(void)
{
  static double took[WAYS][ROUNDS], ratio[ROUNDS];
  unsigned bodies = BODIES / (unsigned)(1 + size / 4096);
  for (int round = -2; round < ROUNDS; round++) { /* two to warm up */
    for (size_t way = 0; way < WAYS; way++) {
      double started = now();
      for (unsigned i = 0; i < bodies; i++)
        ways[way].run();
      if (round >= 0)
        took[way][round] = (now() - started) / bodies;
    }
  }
  for (size_t way = 0; way < WAYS; way++) {
    for (int round = 0; round < ROUNDS; round++)
      ratio[round] = took[way][round] / took[ways[way].beside][round];
    printf("%8zu B  %-40s %9.1f ns   %5.2f x, + %.1f ns\n", size, ways[way].name, median(took[way]), median(ratio),
           median(took[way]) - median(took[ways[way].beside]));
  }
}

int main(int count, char **arguments)
{
  for (size_t i = 0; i < sizeof body; i++)
    body[i] = (char)(i % 251);
  check(brimful_collector_new(NULL, NULL, &kept));
  if (count < 2)
    measure();
  for (int i = 1; i < count; i++) {
    size = strtoul(arguments[i], NULL, 10);
    if (size == 0 || size > sizeof body) {
      fprintf(stderr, "overhead: sizes go from 1 to %zu\n", sizeof body);
      return 2;
    }
    measure();
  }
  brimful_collector_free(kept);
  return 0;
}
