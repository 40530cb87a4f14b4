/*
 * States of a whole process that no single body shows; each prints one JSON object.
 *
 *     states mixed WAY BODIES       bodies of mixed sizes in a loop: memory from the system after a tenth of them, RSS
 *     states stalls COUNT           open bodies that stopped after 100 bytes: resident memory of each
 *     states liars COUNT LENGTH P   bodies that announce LENGTH and send 1 byte; P: pooled or exact
 *     states burst WAY ROUNDS MS    200 bodies of 5 MiB held at once, ROUNDS times, MS apart; then idle, then trimmed
 *
 * WAY is brimful, or what is written by hand: malloc (length known), realloc (doubling).
 */
#define _GNU_SOURCE
#include "job.h"

#include <brimful.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void check(brimful_status status)
{
  if (status != BRIMFUL_OK)
    give_up(brimful_status_name(status));
}

static long resident(void)
{
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
    give_up("no /proc/self/statm");
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static long faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pause_for(long milliseconds)
{
  struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };
  nanosleep(&time, NULL);
}

static brimful_pool_statistics stats_of(const brimful_pool *pool)
{
  brimful_pool_statistics stats;
  stats.struct_size = sizeof stats;
  check(brimful_pool_stats(pool, &stats));
  return stats;
}

static brimful_pool *pool_with(uint64_t retained, uint64_t idle)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  options.max_retained = retained;
  options.idle_milliseconds = idle;
  check(brimful_pool_new(&options, &pool));
  return pool;
}

static struct job job_of(size_t n)
{
  struct job job = { .n = n, .length = NOT_KNOWN, .hint = NOT_KNOWN, .most = 65536, .fd = -1 };
  return job;
}

/* ---- the ways: a body that is held, and is let go later */

enum way { BRIMFUL, MALLOC, REALLOC };

static enum way way_of(const char *name)
{
  return strcmp(name, "brimful") == 0 ? BRIMFUL : strcmp(name, "malloc") == 0 ? MALLOC : REALLOC;
}

static void *collect(enum way way, brimful_pool *pool, size_t n)
{
  struct job job = job_of(n);
  size_t room = way == MALLOC ? n : 64, have = 0, filled = 1;
  char *memory;
  if (way == BRIMFUL) {
    brimful_buffer *buffer;
    check(brimful_collect(pool, NULL, source_read, &job, &buffer, NULL));
    return buffer;
  }
  memory = malloc(room > 0 ? room : 1);
  while (memory != NULL && filled > 0 && !(way == MALLOC && have == n)) {
    if (have == room)
      memory = realloc(memory, room *= 2);
    filled = 0;
    if (memory != NULL)
      source_read(&job, memory + have, room - have, &filled);
    have += filled;
  }
  if (memory == NULL)
    give_up("no memory");
  return way == MALLOC ? memory : realloc(memory, have > 0 ? have : 1);
}

static void let_go(enum way way, void *held)
{
  __asm__ volatile("" : : "r"(held) : "memory");
  if (way == BRIMFUL)
    brimful_buffer_release(held);
  else
    free(held);
}

/* ---- mixed sizes, the same sequence each time: log-uniform from 1 B to 4 MiB, one after the other */

static void mixed(enum way way, long bodies)
{
  brimful_pool *pool = pool_with((uint64_t)64 << 20, 10000);
  uint64_t state = 1, warm_allocated = 0, warm_bytes = 0;
  long rss[10], warm_faults = 0;
  double started = now();
  if (bodies < 10)
    give_up("10 bodies or more");
  for (long i = 0; i < bodies; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    size_t power = (state >> 33) % 23, n = ((size_t)1 << power) + ((state >> 40) & (((size_t)1 << power) - 1));
    if (n > (size_t)4 << 20)
      n = (size_t)4 << 20;
    let_go(way, collect(way, pool, n));
    if (i == bodies / 10) {
      warm_allocated = stats_of(pool).allocated;
      warm_bytes = stats_of(pool).allocated_bytes;
      warm_faults = faults();
    }
    if ((i + 1) % (bodies / 10) == 0 && (i + 1) / (bodies / 10) <= 10)
      rss[(i + 1) / (bodies / 10) - 1] = resident();
  }
  double took = (now() - started) / (double)bodies;
  printf("{\"ns\": %.1f, \"blocks_after_warm_up\": %llu, \"bytes_after_warm_up\": %llu, \"faults_after_warm_up\": %ld, "
         "\"rss\": [", took, (unsigned long long)(stats_of(pool).allocated - warm_allocated),
         (unsigned long long)(stats_of(pool).allocated_bytes - warm_bytes), faults() - warm_faults);
  for (int i = 0; i < 10; i++)
    printf("%s%ld", i > 0 ? ", " : "", rss[i]);
  puts("]}");
}

/* ---- open bodies */

static int32_t stall(void *context, void *window, size_t room, size_t *filled)
{
  size_t *rest = context, count = *rest < room ? *rest : room;
  memcpy(window, source_block, count);
  *rest -= count;
  *filled = count;
  return BRIMFUL_PENDING;
}

static void open_bodies(size_t count, size_t sent, uint64_t length, uint32_t prefer)
{
  brimful_pool *pool = pool_with((uint64_t)64 << 20, 10000);
  brimful_collector **collectors = calloc(count, sizeof *collectors);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  double started;
  long before;
  if (collectors == NULL || count == 0)
    give_up("a count of bodies");
  memset(collectors, 1, count * sizeof *collectors); /* the list itself is not theirs */
  options.length = length;
  options.prefer = prefer;
  before = resident();
  started = now();
  for (size_t i = 0; i < count; i++) {
    size_t rest = sent;
    check(brimful_collector_new(pool, &options, &collectors[i]));
    if (brimful_collector_read(collectors[i], stall, &rest) != BRIMFUL_PENDING)
      give_up("a body that stalls is not pending");
  }
  double took = (now() - started) / (double)count;
  printf("{\"ns\": %.1f, \"resident_each\": %.1f, \"held_each\": %.1f}\n", took,
         (double)(resident() - before) / (double)count, (double)stats_of(pool).outstanding_bytes / (double)count);
  for (size_t i = 0; i < count; i++)
    brimful_collector_free(collectors[i]);
}

/* ---- a burst */

#define BURST 200

static void burst(enum way way, int rounds, long milliseconds)
{
  static void *held[BURST];
  brimful_pool *pool = pool_with((uint64_t)64 << 20, 2000);
  long before = resident(), touched = faults();
  printf("{\"ns\": [");
  for (int round = 0; round < rounds; round++) {
    double started;
    if (round > 0)
      pause_for(milliseconds);
    started = now();
    for (int i = 0; i < BURST; i++)
      held[i] = collect(way, pool, (size_t)5 << 20);
    for (int i = 0; i < BURST; i++)
      let_go(way, held[i]);
    printf("%s%.1f", round > 0 ? ", " : "", (now() - started) / BURST);
  }
  brimful_pool_statistics stats = stats_of(pool);
  long rss = resident() - before;
  printf("], \"faults\": %ld, \"freed_bytes\": %llu, \"allocated_bytes\": %llu, \"retained_0s\": %llu, \"rss_0s\": %ld",
         faults() - touched, (unsigned long long)stats.freed_bytes, (unsigned long long)stats.allocated_bytes,
         (unsigned long long)stats.retained_bytes, rss);
  if (way == BRIMFUL) {
    pause_for(2500);
    let_go(way, collect(way, pool, 100)); /* idle memory goes at the pool's next use */
    stats = stats_of(pool);
    printf(", \"retained_idle\": %llu, \"rss_idle\": %ld", (unsigned long long)stats.retained_bytes, resident() - before);
    brimful_pool_trim(pool, 0);
    stats = stats_of(pool);
    printf(", \"retained_trim\": %llu, \"rss_trim\": %ld", (unsigned long long)stats.retained_bytes, resident() - before);
  }
  puts("}");
}

int main(int count, char **arguments)
{
  const char *state = count > 1 ? arguments[1] : "";
  if (strcmp(state, "mixed") == 0 && count == 4)
    mixed(way_of(arguments[2]), atol(arguments[3]));
  else if (strcmp(state, "stalls") == 0 && count == 3)
    open_bodies(strtoul(arguments[2], NULL, 10), 100, BRIMFUL_UNKNOWN, BRIMFUL_PREFER_POOLED);
  else if (strcmp(state, "liars") == 0 && count == 5)
    open_bodies(strtoul(arguments[2], NULL, 10), 1, strtoull(arguments[3], NULL, 10),
                strcmp(arguments[4], "exact") == 0 ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED);
  else if (strcmp(state, "burst") == 0 && count == 5)
    burst(way_of(arguments[2]), atoi(arguments[3]), atol(arguments[4]));
  else
    give_up("what to show? see the comment in states.c");
  return 0;
}
