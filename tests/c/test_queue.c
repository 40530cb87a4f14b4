/* The hand-off queue: statuses, states, NULL and 0, capacity, budget, moving to collectors, memory (E52). */
#include "check.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static brimful_queue *queue_on(brimful_pool *pool, uint64_t capacity)
{
  brimful_queue *queue;
  if (brimful_queue_new(pool, capacity, &queue) != BRIMFUL_OK)
    abort();
  return queue;
}

static brimful_pool_statistics statistics_of(const brimful_pool *pool)
{
  brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
  STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
  CHECK(statistics.allocated_bytes - statistics.freed_bytes == statistics.outstanding_bytes + statistics.retained_bytes);
  return statistics;
}

/* Writes painted bytes from `offset` on; all of them must fit. */
static void put(brimful_queue *queue, uint64_t offset, size_t length)
{
  unsigned char *bytes = malloc(length);
  size_t written = 0;
  paint(bytes, offset, length);
  STATUS(brimful_queue_write(queue, bytes, length, &written), BRIMFUL_OK);
  SAME(written, length);
  free(bytes);
}

static int comes_painted(brimful_queue *queue, uint64_t offset, size_t length)
{
  unsigned char *bytes = malloc(length);
  size_t came = 0;
  int right = brimful_queue_read(queue, bytes, length, &came) == BRIMFUL_OK && came == length && is_painted(bytes, offset, length);
  free(bytes);
  return right;
}

TEST(a_queue_takes_no_memory_until_the_first_byte_and_refuses_what_cannot_be)
{
  brimful_pool *pool = new_pool(0);
  brimful_queue *queue = (brimful_queue *)1;
  STATUS(brimful_queue_new(pool, 0, &queue), BRIMFUL_ERR_INVALID);
  CHECK(queue == NULL);
  STATUS(brimful_queue_new(pool, 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_new(NULL, 1, &queue), BRIMFUL_OK);
  brimful_queue_free(queue);
  STATUS(brimful_queue_new(pool, BRIMFUL_UNLIMITED, &queue), BRIMFUL_OK);
  SAME(brimful_queue_length(queue), 0);
  SAME(statistics_of(pool).rented, 0);
  brimful_pool_release(pool); /* the queue holds it */
  put(queue, 0, 100000);
  CHECK(comes_painted(queue, 0, 100000));
  brimful_queue_free(queue);
}

TEST(calls_on_no_queue_are_invalid_or_count_nothing_and_clear_what_they_would_have_filled)
{
  brimful_collector *collector;
  brimful_slice slice;
  char byte = 'x';
  void *window = &byte;
  size_t size = 1;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_queue_write(NULL, "x", 1, &size), BRIMFUL_ERR_INVALID);
  SAME(size, 0);
  size = 1;
  STATUS(brimful_queue_reserve(NULL, 0, &window, &size), BRIMFUL_ERR_INVALID);
  CHECK(window == NULL && size == 0);
  STATUS(brimful_queue_commit(NULL, 0), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_end(NULL, 0), BRIMFUL_ERR_INVALID);
  size = 1;
  STATUS(brimful_queue_read(NULL, &byte, 1, &size), BRIMFUL_ERR_INVALID);
  SAME(size, 0);
  size = 1;
  STATUS(brimful_queue_peek(NULL, &slice, 1, &size), BRIMFUL_ERR_INVALID);
  SAME(size, 0);
  STATUS(brimful_queue_skip(NULL, 0), BRIMFUL_ERR_INVALID);
  size = 1;
  STATUS(brimful_queue_move(NULL, collector, &size), BRIMFUL_ERR_INVALID);
  SAME(size, 0);
  SAME(brimful_queue_length(NULL), 0);
  brimful_queue_free(NULL);
  brimful_collector_free(collector);
}

TEST(a_queue_refuses_null_where_it_may_not_be_and_stays_as_it_was)
{
  brimful_queue *queue = queue_on(NULL, 100);
  brimful_collector *collector;
  brimful_slice slice;
  char bytes[8];
  void *window = bytes;
  size_t size = 1;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_queue_write(queue, "abc", 3, &size), BRIMFUL_OK);
  STATUS(brimful_queue_write(queue, "x", 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_write(queue, NULL, 1, &size), BRIMFUL_ERR_INVALID);
  SAME(size, 0);
  STATUS(brimful_queue_write(queue, "x", SIZE_MAX, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_write(queue, NULL, 0, &size), BRIMFUL_OK);
  STATUS(brimful_queue_reserve(queue, 0, NULL, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_reserve(queue, 0, &window, NULL), BRIMFUL_ERR_INVALID);
  CHECK(window == NULL);
  STATUS(brimful_queue_read(queue, bytes, 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_read(queue, NULL, 1, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_read(queue, NULL, 0, &size), BRIMFUL_MORE);
  SAME(size, 0);
  STATUS(brimful_queue_peek(queue, &slice, 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_peek(queue, NULL, 1, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_peek(queue, NULL, 0, &size), BRIMFUL_MORE);
  SAME(size, 0);
  STATUS(brimful_queue_skip(queue, 4), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_skip(queue, SIZE_MAX), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_move(queue, NULL, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_move(queue, collector, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_queue_end(queue, BRIMFUL_PENDING), BRIMFUL_ERR_INVALID);
  SAME(brimful_queue_length(queue), 3);
  STATUS(brimful_queue_read(queue, bytes, SIZE_MAX, &size), BRIMFUL_OK); /* more than there is */
  CHECK(size == 3 && memcmp(bytes, "abc", 3) == 0);
  STATUS(brimful_queue_read(queue, NULL, 0, &size), BRIMFUL_PENDING);
  STATUS(brimful_queue_peek(queue, NULL, 0, &size), BRIMFUL_PENDING);
  STATUS(brimful_queue_skip(queue, 0), BRIMFUL_OK);
  brimful_collector_free(collector);
  brimful_queue_free(queue);
}

enum state { EMPTY, WAITING, FULL, WINDOW_OUT, ENDED, ENDED_EMPTY, BROKEN, STATES };

/* A queue for 10 bytes, with 4 in it unless it is empty or full. */
static brimful_queue *in_state(enum state state)
{
  brimful_queue *queue = queue_on(NULL, 10);
  void *window;
  size_t size;
  if (state != EMPTY && state != ENDED_EMPTY)
    put(queue, 0, state == FULL ? 10 : 4);
  if (state == WINDOW_OUT || state == BROKEN)
    STATUS(brimful_queue_reserve(queue, 0, &window, &size), BRIMFUL_OK);
  if (state == BROKEN)
    STATUS(brimful_queue_commit(queue, size + 1), BRIMFUL_ERR_CONTRACT);
  if (state == ENDED || state == ENDED_EMPTY)
    STATUS(brimful_queue_end(queue, BRIMFUL_OK), BRIMFUL_OK);
  return queue;
}

#define OK BRIMFUL_OK
#define WAIT BRIMFUL_PENDING
#define WRONG BRIMFUL_ERR_STATE

static const struct {
  const char *call;
  brimful_status expected[STATES];
} table[] = {
  /* empty, waiting, full, window out, ended, ended and empty, broken */
  { "write", { OK, OK, WAIT, WRONG, WRONG, WRONG, WRONG } },
  { "reserve", { OK, OK, WAIT, OK, WRONG, WRONG, WRONG } },
  { "commit", { WRONG, WRONG, WRONG, OK, WRONG, WRONG, WRONG } },
  { "end", { OK, OK, OK, WRONG, WRONG, WRONG, WRONG } },
  { "read", { WAIT, OK, OK, OK, OK, OK, OK } },
  { "peek", { WAIT, OK, OK, OK, OK, OK, OK } },
  { "skip", { BRIMFUL_ERR_INVALID, OK, OK, OK, OK, BRIMFUL_ERR_INVALID, OK } },
  { "move", { WAIT, OK, OK, OK, OK, OK, OK } },
};

static brimful_status call(size_t which, brimful_queue *queue)
{
  unsigned char bytes[4];
  brimful_collector *collector;
  brimful_status status;
  brimful_slice slice;
  void *window;
  size_t size = 1;
  switch (which) {
  case 0:
    status = brimful_queue_write(queue, "x", 1, &size);
    CHECK(size == (status == BRIMFUL_OK));
    return status;
  case 1:
    status = brimful_queue_reserve(queue, 0, &window, &size);
    CHECK((status == BRIMFUL_OK) == (window != NULL) && (status == BRIMFUL_OK) == (size > 0));
    return status;
  case 2:
    return brimful_queue_commit(queue, 0);
  case 3:
    return brimful_queue_end(queue, BRIMFUL_OK);
  case 4:
    status = brimful_queue_read(queue, bytes, sizeof bytes, &size);
    CHECK(size == 0 || (size == 4 && is_painted(bytes, 0, 4)));
    return status;
  case 5:
    status = brimful_queue_peek(queue, &slice, 1, &size);
    CHECK(size == 0 || (slice.length >= 4 && is_painted(slice.data, 0, slice.length)));
    return status;
  case 6:
    return brimful_queue_skip(queue, 1);
  default:
    if (brimful_collector_new(NULL, NULL, &collector) != BRIMFUL_OK)
      abort();
    status = brimful_queue_move(queue, collector, &size);
    SAME(info_of(collector).length, size);
    SAME(info_of(collector).state, BRIMFUL_STATE_OPEN);
    brimful_collector_free(collector);
    return status;
  }
}

TEST(every_call_does_in_every_state_of_a_queue_what_the_table_says)
{
  for (size_t which = 0; which < ARRAY_LENGTH(table); which++) {
    for (enum state state = EMPTY; state < STATES; state++) {
      brimful_queue *queue = in_state(state);
      uint64_t before = brimful_queue_length(queue);
      brimful_status came = call(which, queue);
      check_status(table[which].call, (int)state, "in this state", came, table[which].expected[state]);
      if (came < 0)
        SAME(brimful_queue_length(queue), before);
      brimful_queue_free(queue);
    }
  }
}

TEST(the_reader_sees_the_end_or_the_producers_error_after_the_last_byte_and_ever_after)
{
  static const brimful_status ends[] = { BRIMFUL_OK, BRIMFUL_ERR_SOURCE, -104, INT32_MIN };
  for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
    brimful_queue *queue = queue_on(NULL, BRIMFUL_UNLIMITED);
    brimful_collector *collector;
    brimful_slice slice;
    char bytes[10];
    size_t size = 1;
    REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
    put(queue, 0, 100);
    STATUS(brimful_queue_end(queue, ends[i]), BRIMFUL_OK);
    STATUS(brimful_queue_end(queue, BRIMFUL_OK), BRIMFUL_ERR_STATE);
    CHECK(comes_painted(queue, 0, 90));
    STATUS(brimful_queue_read(queue, bytes, 10, &size), BRIMFUL_OK);
    SAME(size, 10);
    for (int again = 0; again < 2; again++) {
      STATUS(brimful_queue_read(queue, bytes, 10, &size), ends[i]);
      SAME(size, 0);
      STATUS(brimful_queue_peek(queue, &slice, 1, &size), ends[i]);
      SAME(size, 0);
      STATUS(brimful_queue_move(queue, collector, &size), ends[i]);
      SAME(size, 0);
      SAME(brimful_collector_is_complete(collector), 0);
    }
    brimful_collector_free(collector);
    brimful_queue_free(queue);
  }
}

TEST(when_full_a_write_takes_what_fits_and_windows_are_no_larger_than_what_is_free)
{
  brimful_queue *queue = queue_on(NULL, 10000);
  unsigned char bytes[12000];
  void *window, *same;
  size_t size;
  paint(bytes, 0, sizeof bytes);
  STATUS(brimful_queue_write(queue, bytes, 7000, &size), BRIMFUL_OK);
  STATUS(brimful_queue_reserve(queue, 1000000, &window, &size), BRIMFUL_OK);
  SAME(size, 3000);
  paint(window, 7000, 2000);
  STATUS(brimful_queue_reserve(queue, 1, &same, &size), BRIMFUL_OK);
  CHECK(same == window && size == 3000);
  CHECK(comes_painted(queue, 0, 6000)); /* the reader goes on meanwhile */
  STATUS(brimful_queue_commit(queue, 2000), BRIMFUL_OK);
  SAME(brimful_queue_length(queue), 3000);
  STATUS(brimful_queue_write(queue, bytes + (9000 % 251), 8000, &size), BRIMFUL_PENDING);
  SAME(size, 7000);
  STATUS(brimful_queue_write(queue, bytes, 1, &size), BRIMFUL_PENDING);
  SAME(size, 0);
  STATUS(brimful_queue_write(queue, NULL, 0, &size), BRIMFUL_OK);
  STATUS(brimful_queue_reserve(queue, 0, &window, &size), BRIMFUL_PENDING);
  CHECK(window == NULL && size == 0);
  STATUS(brimful_queue_skip(queue, 1), BRIMFUL_OK);
  STATUS(brimful_queue_reserve(queue, 0, &window, &size), BRIMFUL_OK);
  SAME(size, 1);
  STATUS(brimful_queue_commit(queue, 0), BRIMFUL_OK);
  CHECK(comes_painted(queue, 6001, 9999));
  brimful_queue_free(queue);
}

TEST(pieces_that_were_shown_stay_in_their_place_while_more_is_written)
{
  brimful_queue *queue = queue_on(NULL, BRIMFUL_UNLIMITED);
  brimful_slice before[8], after[64];
  size_t count, more, at = 0;
  put(queue, 0, 9000);
  STATUS(brimful_queue_peek(queue, before, 8, &count), BRIMFUL_OK);
  put(queue, 9000, 3000000);
  STATUS(brimful_queue_peek(queue, after, 64, &more), BRIMFUL_OK);
  CHECK(more > count && more < 64);
  for (size_t i = 0; i < count; i++)
    CHECK(before[i].data == after[i].data && is_painted(before[i].data, at, before[i].length) && (at += before[i].length));
  SAME(at, 9000);
  at = 0;
  for (size_t i = 0; i < more; i++) {
    CHECK(is_painted(after[i].data, at, after[i].length));
    at += after[i].length;
  }
  SAME(at, 3009000);
  brimful_queue_free(queue);
}

TEST(beyond_the_budget_a_write_and_a_window_are_refused_and_nothing_changes)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    brimful_pool *pool;
    brimful_queue *queue;
    static unsigned char bytes[200000];
    void *window;
    size_t size = 1;
    options.budget = 100000;
    options.flags = flags;
    REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
    queue = queue_on(pool, BRIMFUL_UNLIMITED);
    STATUS(brimful_queue_write(queue, bytes, sizeof bytes, &size), BRIMFUL_ERR_BUDGET);
    SAME(size, 0);
    SAME(brimful_queue_length(queue), 0);
    SAME(statistics_of(pool).outstanding, 0);
    put(queue, 0, 60000);
    STATUS(brimful_queue_write(queue, bytes, 60000, &size), BRIMFUL_ERR_BUDGET);
    SAME(brimful_queue_length(queue), 60000);
    while (brimful_queue_reserve(queue, 65536, &window, &size) == BRIMFUL_OK) {
      paint(window, brimful_queue_length(queue), size);
      STATUS(brimful_queue_commit(queue, size), BRIMFUL_OK);
    }
    STATUS(brimful_queue_reserve(queue, 0, &window, &size), BRIMFUL_ERR_BUDGET);
    CHECK(window == NULL && size == 0);
    size_t length = (size_t)brimful_queue_length(queue);
    CHECK(length >= 64000 && comes_painted(queue, 0, length));
    put(queue, 0, 60000); /* what was read is free again */
    brimful_queue_free(queue);
    SAME(statistics_of(pool).outstanding_bytes, 0);
    brimful_pool_release(pool);
  }
}

TEST(whole_blocks_move_to_a_collector_of_the_same_pool_and_nothing_is_copied)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_queue *queue = queue_on(pool, BRIMFUL_UNLIMITED);
    brimful_collector *collector;
    brimful_buffer *buffer;
    brimful_slice shown[64], moved[64];
    size_t count, taken;
    for (uint64_t i = 0; i < 3000; i++)
      put(queue, i * 1000, 1000);
    STATUS(brimful_queue_peek(queue, shown, 64, &count), BRIMFUL_OK);
    uint64_t rented = statistics_of(pool).rented;
    REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
    STATUS(brimful_queue_move(queue, collector, &taken), BRIMFUL_OK);
    SAME(taken, 3000000);
    STATUS(brimful_queue_move(queue, collector, &taken), BRIMFUL_PENDING);
    brimful_queue_free(queue);
    SAME(statistics_of(pool).rented, rented);
    STATUS(brimful_collector_end(collector), BRIMFUL_OK);
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    SAME(info_of(collector).copied, 0);
    SAME(brimful_buffer_segments(buffer, 0, moved, 64), count);
    for (size_t i = 0; i < count; i++)
      CHECK(shown[i].data == moved[i].data && shown[i].length == moved[i].length);
    CHECK(buffer_is_painted(buffer, 3000000));
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    SAME(statistics_of(pool).outstanding, 0);
    SAME(statistics_of(pool).outstanding_bytes, 0);
    brimful_pool_release(pool);
  }
}

TEST(a_body_takes_what_it_lacks_and_the_next_ones_head_stays_in_the_queue_wherever_it_lies)
{
  for (int way = 0; way < 4; way++) {
    brimful_pool *pool = new_pool(0), *other = new_pool(BRIMFUL_POOL_LIST);
    brimful_queue *queue = queue_on(pool, BRIMFUL_UNLIMITED);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_collector *collector;
    unsigned char *target = malloc(300000);
    size_t taken;
    options.length = 300000;
    options.prefer = way == 1 ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
    if (way == 2)
      STATUS(brimful_collector_new_into(&options, target, 300000, &collector), BRIMFUL_OK);
    else
      STATUS(brimful_collector_new(way == 3 ? other : pool, &options, &collector), BRIMFUL_OK);
    for (uint64_t body = 0; body < 3; body++) {
      brimful_buffer *buffer;
      void *data;
      size_t length;
      put(queue, 7, 8);
      put(queue, 0, 100000);
      CHECK(comes_painted(queue, 7, 8));
      STATUS(brimful_queue_move(queue, collector, &taken), BRIMFUL_OK);
      SAME(taken, 100000);
      put(queue, 100000, 200000);
      put(queue, 100, 5); /* the next one's */
      STATUS(brimful_queue_move(queue, collector, &taken), BRIMFUL_OK);
      SAME(taken, 200000);
      SAME(brimful_collector_is_complete(collector), 1);
      STATUS(brimful_queue_move(queue, collector, &taken), BRIMFUL_MORE);
      SAME(taken, 0);
      CHECK(comes_painted(queue, 100, 5));
      SAME(info_of(collector).copied, 0);
      if (way == 1) {
        STATUS(brimful_collector_finish_exact(collector, &data, &length), BRIMFUL_OK);
        CHECK(length == 300000 && is_painted(data, 0, length));
        free(data);
      } else if (way == 2) {
        CHECK(is_painted(target, 0, 300000));
      } else {
        STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
        CHECK(buffer_is_painted(buffer, 300000));
        brimful_buffer_release(buffer);
      }
      STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
    }
    brimful_collector_free(collector);
    brimful_queue_free(queue);
    SAME(statistics_of(pool).outstanding, 0);
    SAME(statistics_of(other).outstanding, 0);
    brimful_pool_release(pool);
    brimful_pool_release(other);
    free(target);
  }
}

TEST(what_is_beyond_a_limit_stays_in_the_queue_and_what_truncation_drops_does_not)
{
  for (int truncates = 0; truncates <= 1; truncates++) {
    brimful_queue *queue = queue_on(NULL, BRIMFUL_UNLIMITED);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_collector *collector;
    brimful_buffer *buffer;
    size_t taken = 1;
    options.limit = 10000;
    options.flags = truncates ? BRIMFUL_TRUNCATE : 0;
    REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
    put(queue, 0, 30000);
    STATUS(brimful_queue_move(queue, collector, &taken), truncates ? BRIMFUL_OK : BRIMFUL_ERR_LIMIT);
    SAME(taken, truncates ? 30000 : 0);
    SAME(brimful_queue_length(queue), truncates ? 0 : 20000);
    SAME(brimful_collector_is_complete(collector), truncates ? 1 : BRIMFUL_ERR_LIMIT);
    put(queue, 30000, 100);
    STATUS(brimful_queue_move(queue, collector, &taken), truncates ? BRIMFUL_OK : BRIMFUL_ERR_LIMIT);
    SAME(brimful_queue_length(queue), truncates ? 0 : 20100);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 10000));
    brimful_buffer_release(buffer);
    STATUS(brimful_queue_move(queue, collector, &taken), truncates ? BRIMFUL_ERR_STATE : BRIMFUL_ERR_STATE);
    brimful_collector_free(collector);
    brimful_queue_free(queue);
  }
}

/* An allocator whose functions call the queue that they are called by. */
struct meddler {
  brimful_queue *queue;
  int frees, calls;
};

static void *meddles(void *context, size_t size)
{
  struct meddler *meddler = context;
  size_t count = 1;
  if (meddler->queue != NULL) {
    meddler->calls++;
    STATUS(brimful_queue_write(meddler->queue, "x", 1, &count), BRIMFUL_ERR_BUSY);
    STATUS(brimful_queue_read(meddler->queue, &count, 1, &count), BRIMFUL_ERR_BUSY);
    SAME(brimful_queue_length(meddler->queue), 0);
    if (meddler->frees)
      brimful_queue_free(meddler->queue);
  }
  return malloc(size);
}

static void gives_back(void *context, void *memory, size_t size)
{
  (void)context;
  (void)size;
  free(memory);
}

TEST(calls_from_inside_an_allocator_are_busy_and_freeing_there_takes_effect_at_the_end_of_the_call)
{
  for (int frees = 0; frees <= 1; frees++) {
    struct meddler meddler = { NULL, frees, 0 };
    brimful_allocator allocator = { sizeof allocator, meddles, NULL, gives_back, &meddler };
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    brimful_pool *pool;
    size_t written;
    options.allocator = &allocator;
    REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
    meddler.queue = queue_on(pool, 1000);
    STATUS(brimful_queue_write(meddler.queue, "hello", 5, &written), BRIMFUL_OK);
    SAME(written, 5);
    SAME(meddler.calls, 1);
    if (!frees)
      brimful_queue_free(meddler.queue);
    SAME(statistics_of(pool).outstanding, 0);
    brimful_pool_release(pool);
  }
}

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

TEST(ten_million_small_writes_and_reads_take_constant_memory)
{
  uint64_t rounds = check_under_tool() ? 100000 : 10000000;
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_queue *queue = queue_on(pool, MIB);
    brimful_pool_statistics statistics;
    unsigned char bytes[16], came[16];
    uint64_t held = 0, wrong = 0;
    size_t size;
    put(queue, 0, 100); /* so that it is never empty */
    for (uint64_t i = 0; i < rounds; i++) {
      size_t length = 1 + i % sizeof bytes;
      memset(bytes, (int)(i % 251), sizeof bytes);
      wrong += brimful_queue_write(queue, bytes, length, &size) != BRIMFUL_OK || size != length;
      wrong += brimful_queue_read(queue, came, length, &size) != BRIMFUL_OK || size != length;
      if (i == 1000)
        held = resident();
    }
    SAME(wrong, 0);
    SAME(brimful_queue_length(queue), 100);
    statistics = statistics_of(pool);
    SAME(statistics.allocated, 2);
    SAME(statistics.peak_bytes, 8192);
    CHECK(check_under_tool() || resident() <= held + 64 * 1024);
    brimful_queue_free(queue);
    brimful_pool_release(pool);
  }
}

TEST(a_slow_reader_holds_the_writer_at_the_capacity_and_memory_near_it)
{
  static unsigned char bytes[8000 + 251], came[1004];
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_queue *queue = queue_on(pool, MIB);
    uint64_t written = 0, read = 0, pending = 0, most = 0, held = resident();
    size_t size;
    paint(bytes, 0, sizeof bytes);
    for (int i = 0; i < 20000; i++) {
      pending += brimful_queue_write(queue, bytes + written % 251, 8000, &size) == BRIMFUL_PENDING;
      written += size;
      if (brimful_queue_length(queue) > most)
        most = brimful_queue_length(queue);
      STATUS(brimful_queue_read(queue, came, sizeof came, &size), BRIMFUL_OK);
      CHECK(size == sizeof came && is_painted(came, read, size));
      read += size;
    }
    SAME(most, MIB);
    CHECK(pending > 19000 && written - read == brimful_queue_length(queue));
    CHECK(statistics_of(pool).outstanding_bytes <= 5 * MIB / 4);
    CHECK(statistics_of(pool).peak_bytes <= 2 * MIB);
    CHECK(check_under_tool() || resident() <= held + 5 * MIB / 2);
    brimful_queue_free(queue);
    SAME(statistics_of(pool).outstanding, 0);
    brimful_pool_release(pool);
  }
}
