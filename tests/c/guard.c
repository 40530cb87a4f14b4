/*
 * Small pieces of work whose cost is counted and not timed; guards.py compares the counts with guards.json.
 *
 *     guard                   names of the pieces of work
 *     guard WORK ROUNDS       does WORK a few times, and then ROUNDS times within counted(): for callgrind
 *     guard numbers           what the library says of bodies of several sizes: one JSON object
 */
#include <brimful.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (1u << 20)
#define WARM_UP 4

static char content[BLOCK];

static void check(brimful_status status)
{
  if (status != BRIMFUL_OK) {
    fprintf(stderr, "guard: %s\n", brimful_status_name(status));
    exit(1);
  }
}

/* ---- the source: fills any window, or gives `most` at once and then has nothing */

struct source {
  size_t rest;
  size_t most;
};

static struct source source_of(size_t length)
{
  struct source source = { length, SIZE_MAX };
  return source;
}

static brimful_status fill(void *context, void *window, size_t room, size_t *filled)
{
  struct source *source = context;
  size_t count = source->rest < room ? source->rest : room;
  if (count > source->most)
    count = source->most;
  for (size_t done = 0; done < count;) {
    size_t piece = count - done < BLOCK ? count - done : BLOCK;
    memcpy((char *)window + done, content, piece);
    done += piece;
  }
  source->rest -= count;
  *filled = count;
  return source->most < SIZE_MAX && source->rest > 0 ? BRIMFUL_PENDING : BRIMFUL_OK;
}

/* ---- the pieces of work */

static void pooled(size_t length, int known)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = source_of(length);
  brimful_buffer *buffer;
  const void *data;
  size_t shown;
  if (known)
    options.length = length;
  check(brimful_collect(NULL, known ? &options : NULL, fill, &source, &buffer, NULL));
  check(brimful_buffer_data(buffer, &data, &shown));
  brimful_buffer_release(buffer);
}

static void exact(size_t length, int known)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = source_of(length);
  void *data;
  size_t shown;
  if (known)
    options.length = length;
  check(brimful_collect_exact(NULL, known ? &options : NULL, fill, &source, &data, &shown, NULL));
  free(data);
}

static void pooled_100(void) { pooled(100, 0); }
static void pooled_1000(void) { pooled(1000, 0); }
static void pooled_10000(void) { pooled(10000, 0); }
static void exact_known_100(void) { exact(100, 1); }
static void exact_known_1000(void) { exact(1000, 1); }
static void exact_known_10000(void) { exact(10000, 1); }
static void exact_100(void) { exact(100, 0); }
static void exact_1000(void) { exact(1000, 0); }
static void exact_10000(void) { exact(10000, 0); }

static void rent_and_release(void)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  check(brimful_collector_new(NULL, NULL, &collector));
  check(brimful_collector_write(collector, content, 1, NULL));
  check(brimful_collector_end(collector));
  check(brimful_collector_finish(collector, &buffer));
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

static brimful_collector *kept;
static struct source pausing;

static void push_a_byte(void)
{
  check(brimful_collector_write(kept, content, 1, NULL));
}

static void go_on_after_a_pause(void)
{
  if (brimful_collector_read(kept, fill, &pausing) != BRIMFUL_PENDING)
    check(BRIMFUL_ERR_STATE);
}

static const struct work {
  const char *name;
  void (*run)(void);
} works[] = {
  { "pooled, 100 B", pooled_100 },
  { "pooled, 1 kB", pooled_1000 },
  { "pooled, 10 kB", pooled_10000 },
  { "exact known, 100 B", exact_known_100 },
  { "exact known, 1 kB", exact_known_1000 },
  { "exact known, 10 kB", exact_known_10000 },
  { "exact, 100 B", exact_100 },
  { "exact, 1 kB", exact_1000 },
  { "exact, 10 kB", exact_10000 },
  { "rent and release, 1 B", rent_and_release },
  { "push of 1 B", push_a_byte },
  { "going on after a pause, 8000 B", go_on_after_a_pause },
};
#define WORKS (sizeof works / sizeof *works)

/* Callgrind counts what happens from entering this function to leaving it. */
__attribute__((noinline)) void counted(const struct work *work, unsigned long rounds);

void counted(const struct work *work, unsigned long rounds)
{
  for (unsigned long i = 0; i < rounds; i++)
    work->run();
  __asm__ volatile("" : : : "memory"); /* no jump out in the place of a return */
}

static int count(const struct work *work, unsigned long rounds)
{
  check(brimful_collector_new(NULL, NULL, &kept));
  pausing.rest = SIZE_MAX;
  pausing.most = 8000;
  for (int i = 0; i < WARM_UP; i++)
    work->run();
  counted(work, rounds);
  brimful_collector_free(kept);
  return 0;
}

/* ---- what the library says, of the first body of a pool, of the second, and of one that stops after every 8000 bytes */

static const char *before = "{";

static void say(const brimful_collector *collector, const char *name, const char *which)
{
  brimful_info info;
  info.struct_size = sizeof info;
  check(brimful_collector_info(collector, &info));
  printf("%s\n\"%s, %llu B, %s body\": {\"allocations\": %llu, \"allocated\": %llu, \"copied\": %llu, \"peak\": %llu, "
         "\"waste\": %llu}",
         before, name, (unsigned long long)info.received, which, (unsigned long long)info.allocations,
         (unsigned long long)info.allocated_bytes, (unsigned long long)info.copied,
         (unsigned long long)info.peak_held, (unsigned long long)info.waste);
  before = ",";
}

/* A body that stops after each `most` bytes, where that is not SIZE_MAX, and goes on. */
static void collect(brimful_pool *pool, size_t length, size_t most, int wanted_exact, int known, const char *which)
{
  static const char *const names[2][2] = { { "pooled", "pooled known" }, { "exact", "exact known" } };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = source_of(length);
  brimful_collector *collector;
  brimful_status status;
  source.most = most;
  options.prefer = wanted_exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  if (known)
    options.length = length;
  check(brimful_collector_new(pool, &options, &collector));
  do
    status = brimful_collector_read(collector, fill, &source);
  while (status == BRIMFUL_PENDING);
  check(status);
  if (wanted_exact) {
    void *data;
    size_t shown;
    check(brimful_collector_finish_exact(collector, &data, &shown));
    free(data);
  } else {
    brimful_buffer *buffer;
    check(brimful_collector_finish(collector, &buffer));
    brimful_buffer_release(buffer);
  }
  say(collector, names[wanted_exact][known], which);
  brimful_collector_free(collector);
}

static int numbers(void)
{
  static const size_t lengths[] = { 100, 10000, 100000, 1000000, 10000000, 100000000 };
  for (int way = 0; way < 4; way++) {
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
      brimful_pool *pool;
      options.max_retained = (uint64_t)256 << 20;
      options.idle_milliseconds = UINT32_MAX;
      check(brimful_pool_new(&options, &pool));
      collect(pool, lengths[i], SIZE_MAX, way / 2, way % 2, "first");
      collect(pool, lengths[i], SIZE_MAX, way / 2, way % 2, "second");
      if (lengths[i] == 10000000)
        collect(pool, lengths[i], 8000, way / 2, way % 2, "suspended");
      brimful_pool_release(pool);
    }
  }
  puts("\n}");
  return 0;
}

int main(int arguments, char **argument)
{
  for (size_t i = 0; i < sizeof content; i++)
    content[i] = (char)(i % 251);
  if (arguments == 2 && strcmp(argument[1], "numbers") == 0)
    return numbers();
  for (size_t i = 0; i < WORKS; i++) {
    if (arguments == 1)
      puts(works[i].name);
    else if (arguments == 3 && strcmp(works[i].name, argument[1]) == 0)
      return count(&works[i], strtoul(argument[2], NULL, 10));
  }
  return arguments == 1 ? 0 : 2;
}
