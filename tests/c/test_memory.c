/* How much memory bodies take, as the system sees it. */
#include "check.h"
#include "source.h"

#include "interpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static uint64_t resident(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
    pages = 0;
  if (file != NULL)
    fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t page_faults(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_minflt;
}

TEST(a_body_that_declares_2_to_the_40_bytes_and_delivers_10_takes_less_than_20_MiB)
{
  if (check_under_tool())
    SKIP("memory is valgrind's there");
  for (int way = 0; way < 8; way++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_pool *pool = new_pool(way % 2 == 0 ? 0 : BRIMFUL_POOL_LIST);
    struct source source = SOURCE(10);
    brimful_collector *collector;
    brimful_buffer *buffer;
    uint64_t before = resident();
    options.prefer = way / 2 % 2 == 0 ? BRIMFUL_PREFER_POOLED : BRIMFUL_PREFER_EXACT;
    if (way < 4)
      options.length = (uint64_t)1 << 40;
    else
      options.size_hint = (uint64_t)1 << 40;
    REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read(collector, source_read, &source), way < 4 ? BRIMFUL_ERR_SHORT : BRIMFUL_OK);
    CHECK(resident() < before + 20 * MIB);
    CHECK(info_of(collector).peak_held < 20 * MIB);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 10));
    CHECK(resident() < before + 20 * MIB);
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    brimful_pool_release(pool);
  }
}

#define OPEN_BODIES 1000

TEST(a_thousand_open_bodies_that_declared_16_MiB_and_got_1_byte_hold_less_than_64_KiB_each)
{
  static brimful_collector *collectors[OPEN_BODIES];
  if (check_under_tool())
    SKIP("memory is valgrind's there");
  for (uint32_t prefer = BRIMFUL_PREFER_POOLED; prefer <= BRIMFUL_PREFER_EXACT; prefer++) {
    for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
      brimful_options options = BRIMFUL_OPTIONS_INIT;
      brimful_pool *pool = new_pool(flags);
      uint64_t before = resident(), held;
      options.length = 16 * MIB;
      options.prefer = prefer;
      for (int i = 0; i < OPEN_BODIES; i++) {
        struct source source = SOURCE(2);
        source.pend_every = 1;
        REQUIRE(brimful_collector_new(pool, &options, &collectors[i]) == BRIMFUL_OK);
        STATUS(brimful_collector_read(collectors[i], source_read, &source), BRIMFUL_PENDING);
      }
      held = resident() - before;
      CHECK(held < OPEN_BODIES * (uint64_t)64 * 1024);
      for (int i = 0; i < OPEN_BODIES; i++)
        brimful_collector_free(collectors[i]);
      brimful_pool_release(pool);
    }
  }
}

/* Sizes from 1 byte to 4 MiB, each power of two as likely as the others; the same at every call. */
static uint64_t steady_size(unsigned i)
{
  uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
  uint64_t power = (uint64_t)1 << (mixed >> 32) % 23;
  uint64_t size = power + (mixed >> 40) % power;
  return size > 4 * MIB ? 4 * MIB : size;
}

static void steady_bodies(brimful_pool *pool, unsigned count)
{
  for (unsigned i = 0; i < count; i++) {
    struct source source = SOURCE(steady_size(i));
    brimful_buffer *buffer;
    source.each = i % 2 == 0 ? 0 : 65536;
    STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
    if (i % 100 == 0)
      CHECK(buffer_is_painted(buffer, source.length));
    brimful_buffer_release(buffer);
  }
}

TEST(after_warm_up_ten_thousand_pooled_bodies_of_1_B_to_4_MiB_take_no_memory_from_the_system)
{
  struct interpose_counts before, after;
  if (interpose_read == NULL)
    SKIP("needs the interposer");
  brimful_pool *pool = new_pool(0);
  brimful_pool_statistics warm = { .struct_size = sizeof warm }, end = { .struct_size = sizeof end };
  steady_bodies(pool, 1000);
  STATUS(brimful_pool_stats(pool, &warm), BRIMFUL_OK);
  interpose_read(&before);
  uint64_t faults = page_faults(), held = resident();
  steady_bodies(pool, 10000);
  CHECK(page_faults() - faults < 100);
  CHECK(resident() <= held + MIB);
  interpose_read(&after);
  SAME(after.allocations - before.allocations, 0);
  STATUS(brimful_pool_stats(pool, &end), BRIMFUL_OK);
  SAME(end.allocated - warm.allocated, 0);
  SAME(end.allocated_bytes - warm.allocated_bytes, 0);
  brimful_pool_release(pool);
}

TEST(the_second_body_of_100_MB_on_a_pool_of_256_MiB_takes_fewer_than_100_page_faults)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  uint64_t faults[2];
  if (check_under_tool())
    SKIP("memory is valgrind's there");
  options.max_retained = 256 * MIB;
  REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  for (int i = 0; i < 2; i++) {
    struct source source = SOURCE(100000000);
    brimful_buffer *buffer;
    uint64_t before = page_faults();
    REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
    faults[i] = page_faults() - before;
    CHECK(buffer_is_painted(buffer, 100000000));
    brimful_buffer_release(buffer);
  }
  CHECK(faults[1] < 100);
  brimful_pool_release(pool);
}

TEST(a_hundred_thousand_bodies_leave_no_memory_behind)
{
  uint64_t before = 0;
  if (check_under_tool())
    SKIP("memory is valgrind's there");
  for (unsigned round = 0; round < 4; round++) {
    for (unsigned i = 0; i < 25000; i++) {
      struct source source = SOURCE(steady_size(i) % 50000);
      brimful_collector *rest;
      brimful_buffer *buffer;
      void *data;
      size_t length;
      if (i % 3 == 0) {
        STATUS(brimful_collect_exact(NULL, NULL, source_read, &source, &data, &length, &rest), BRIMFUL_OK);
        free(data);
      } else {
        source.then = i % 3 == 1 ? BRIMFUL_OK : -1;
        STATUS(brimful_collect(NULL, NULL, source_read, &source, &buffer, &rest),
               i % 3 == 1 ? BRIMFUL_OK : BRIMFUL_ERR_SOURCE);
        brimful_buffer_release(buffer);
        brimful_collector_free(rest);
      }
    }
    if (round == 0)
      before = resident();
  }
  CHECK(resident() <= before + MIB);
}
