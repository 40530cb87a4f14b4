/* What a pool promises: a budget, a limit, trimming, memory that lies idle (E2, E44 to E48; H31, H32, H34, H36). */
#include "check.h"
#include "source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static brimful_pool_statistics statistics_of(const brimful_pool *pool)
{
  brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
  STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
  CHECK(statistics.allocated - statistics.freed == statistics.outstanding + statistics.retained);
  CHECK(statistics.allocated_bytes - statistics.freed_bytes == statistics.outstanding_bytes + statistics.retained_bytes);
  return statistics;
}

static brimful_pool *pool_with(const brimful_pool_options *options)
{
  brimful_pool *pool;
  if (brimful_pool_new(options, &pool) != BRIMFUL_OK)
    abort();
  return pool;
}

static brimful_buffer *body_of(brimful_pool *pool, uint64_t length)
{
  struct source source = SOURCE(length);
  brimful_buffer *buffer;
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  return buffer;
}

TEST(beyond_the_budget_a_body_is_refused_at_once_before_its_source_is_asked_and_nothing_is_lost)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    struct source first = SOURCE(900000), second = SOURCE(700000);
    brimful_collector *rest;
    brimful_buffer *held, *buffer, *partial;
    brimful_pool *pool;
    struct timespec began, ended;
    options.budget = 2 * MIB;
    options.flags = flags;
    pool = pool_with(&options);
    STATUS(brimful_collect(pool, NULL, source_read, &first, &held, NULL), BRIMFUL_OK);
    clock_gettime(CLOCK_MONOTONIC, &began);
    second.each = 5000;
    brimful_buffer *more[64];
    size_t count = 0;
    while (count < 64) { /* bodies until the budget is used up */
      struct source small = SOURCE(100000);
      brimful_status status = brimful_collect(pool, NULL, source_read, &small, &more[count], NULL);
      if (status == BRIMFUL_OK) {
        count++;
        continue;
      }
      STATUS(status, BRIMFUL_ERR_BUDGET);
      break;
    }
    CHECK(count < 64);
    STATUS(brimful_collect(pool, NULL, source_read, &second, &buffer, &rest), BRIMFUL_ERR_BUDGET);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    CHECK(ended.tv_sec - began.tv_sec < 5); /* at once: nothing is waited for */
    CHECK(buffer == NULL && rest != NULL && statistics_of(pool).refused > 0);
    SAME(info_of(rest).received, second.given); /* not a byte was asked for that could not be kept */
    SAME(info_of(rest).state, BRIMFUL_STATE_OPEN);
    STATUS(brimful_collector_read(rest, source_read, &second), BRIMFUL_ERR_BUDGET);
    SAME(info_of(rest).received, second.given);
    brimful_buffer_release(held);
    for (size_t i = 0; i < count; i++)
      brimful_buffer_release(more[i]);
    STATUS(brimful_collector_read(rest, source_read, &second), BRIMFUL_OK); /* the same call again */
    STATUS(brimful_collector_take_partial(rest, &partial), BRIMFUL_OK);
    CHECK(buffer_is_painted(partial, 700000));
    brimful_buffer_release(partial);
    brimful_collector_free(rest);
    SAME(statistics_of(pool).outstanding, 0);
    brimful_pool_release(pool);
  }
}

TEST(a_push_or_a_window_beyond_the_budget_takes_nothing_and_may_be_made_again)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  unsigned char *bytes = malloc(300000);
  brimful_collector *collector, *other;
  brimful_buffer *buffer;
  brimful_pool *pool;
  size_t taken = 1, room;
  void *window;
  paint(bytes, 0, 300000);
  options.budget = MIB;
  pool = pool_with(&options);
  REQUIRE(brimful_collector_new(pool, NULL, &other) == BRIMFUL_OK);
  REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
  for (int i = 0; i < 3; i++)
    STATUS(brimful_collector_write(other, bytes, 300000, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, bytes, 300000, &taken), BRIMFUL_ERR_BUDGET);
  SAME(taken, 0);
  STATUS(brimful_collector_write(collector, bytes, 300000, NULL), BRIMFUL_ERR_BUDGET);
  STATUS(brimful_collector_reserve(collector, 300000, &window, &room), BRIMFUL_ERR_BUDGET);
  CHECK(window == NULL && room == 0 && info_of(collector).received == 0);
  brimful_collector_free(other);
  STATUS(brimful_collector_write(collector, bytes, 300000, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 300000));
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
  brimful_pool_release(pool);
  free(bytes);
}

TEST(a_budget_of_nothing_allows_only_the_empty_body)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_options known = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(1);
  brimful_buffer *buffer;
  brimful_pool *pool;
  options.budget = 0;
  pool = pool_with(&options);
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_ERR_BUDGET);
  SAME(source.calls, 0);
  known.length = 0;
  STATUS(brimful_collect(pool, &known, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(a_pool_s_limit_holds_for_every_body_whose_own_options_have_none)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_options own = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer;
  brimful_pool *pool;
  void *data;
  size_t length;
  options.limit = 1000;
  pool = pool_with(&options);
  struct source fits = SOURCE(1000), more = SOURCE(1001), again = SOURCE(1001);
  STATUS(brimful_collect(pool, NULL, source_read, &fits, &buffer, NULL), BRIMFUL_OK);
  brimful_buffer_release(buffer);
  STATUS(brimful_collect_exact(pool, NULL, source_read, &more, &data, &length, NULL), BRIMFUL_ERR_LIMIT);
  own.limit = 1001;
  STATUS(brimful_collect(pool, &own, source_read, &again, &buffer, NULL), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1001));
  brimful_buffer_release(buffer);
  REQUIRE(brimful_collector_new(pool, &own, &collector) == BRIMFUL_OK);
  own.limit = BRIMFUL_UNLIMITED;
  STATUS(brimful_collector_reset(collector, &own), BRIMFUL_OK); /* H18: the pool's limit is there after a reset too */
  again.given = 0;
  STATUS(brimful_collector_read(collector, source_read, &again), BRIMFUL_ERR_LIMIT);
  brimful_collector_free(collector);
  brimful_pool_release(pool);
}

TEST(trimming_gives_back_down_to_what_is_to_be_kept_and_says_how_much)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_buffer *bodies[5];
    uint64_t before, held;
    for (int i = 0; i < 5; i++)
      bodies[i] = body_of(pool, 2 * MIB);
    CHECK(brimful_pool_trim(pool, 0) < 65536); /* what bodies hold is not touched, only what they have outgrown */
    for (int i = 0; i < 4; i++)
      brimful_buffer_release(bodies[i]);
    before = statistics_of(pool).retained_bytes;
    held = statistics_of(pool).outstanding_bytes;
    CHECK(before >= 8 * MIB);
    SAME(brimful_pool_trim(pool, UINT64_MAX), 0);
    size_t given = brimful_pool_trim(pool, 3 * MIB);
    CHECK(statistics_of(pool).retained_bytes <= 3 * MIB && statistics_of(pool).retained_bytes > 0);
    SAME(statistics_of(pool).retained_bytes + given, before);
    brimful_pool_trim(pool, 0);
    SAME(statistics_of(pool).retained, 0);
    SAME(statistics_of(pool).outstanding_bytes, held);
    CHECK(buffer_is_painted(bodies[4], 2 * MIB));
    brimful_buffer_release(bodies[4]);
    brimful_pool_release(pool);
  }
}

TEST(no_more_than_max_retained_bytes_lie_in_the_pool_and_0_keeps_nothing)
{
  for (int way = 0; way < 4; way++) {
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    brimful_pool *pool;
    options.max_retained = way / 2 == 0 ? 0 : MIB;
    options.flags = way % 2 == 0 ? 0 : BRIMFUL_POOL_LIST;
    pool = pool_with(&options);
    for (int i = 0; i < 3; i++) {
      brimful_buffer *buffer = body_of(pool, 5 * MIB), *small = body_of(pool, 100);
      brimful_buffer_release(small);
      brimful_buffer_release(buffer);
      CHECK(statistics_of(pool).retained_bytes <= options.max_retained);
    }
    brimful_pool_release(pool);
  }
}

TEST(after_a_burst_memory_that_lies_idle_is_given_back_at_the_pool_s_next_use)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_buffer *bodies[8];
  brimful_pool *pool;
  options.idle_milliseconds = 30;
  pool = pool_with(&options);
  for (int i = 0; i < 8; i++)
    bodies[i] = body_of(pool, 2 * MIB);
  for (int i = 0; i < 8; i++)
    brimful_buffer_release(bodies[i]);
  CHECK(statistics_of(pool).retained_bytes >= 16 * MIB);
  usleep(80000);
  brimful_buffer_release(body_of(pool, 10));
  CHECK(statistics_of(pool).retained_bytes <= 65536);
  brimful_pool_release(pool);
}

static void *releases(void *context)
{
  brimful_buffer_release(context);
  return NULL;
}

TEST(a_block_that_is_released_on_another_thread_than_it_was_rented_on_is_reused_all_the_same)
{
  brimful_pool *pool = new_pool(0);
  for (int i = 0; i < 50; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, releases, body_of(pool, 200000)) == 0);
    pthread_join(thread, NULL);
  }
  SAME(statistics_of(pool).outstanding, 0);
  CHECK(statistics_of(pool).allocated <= 3); /* the first block, the one it outgrew into, and a side window */
  brimful_pool_release(pool);
}

TEST(a_pool_that_is_released_first_leaves_its_collectors_buffers_and_slices_as_they_are)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_buffer *buffer = body_of(pool, 100000), *slice, *other;
    struct source source = SOURCE(100000);
    brimful_collector *collector;
    source.pend_every = 50000;
    REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
    STATUS(brimful_buffer_slice(buffer, 1, 99998, &slice), BRIMFUL_OK);
    brimful_pool_release(pool);
    brimful_buffer_release(buffer);
    STATUS(brimful_buffer_detach(slice), BRIMFUL_OK);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
    STATUS(brimful_collector_finish(collector, &other), BRIMFUL_OK);
    CHECK(buffer_is_painted(other, 100000) && brimful_buffer_length(slice) == 99998);
    brimful_collector_free(collector);
    brimful_buffer_release(slice);
    brimful_buffer_release(other);
  }
}
