/* Whole bodies in one call: every size and kind of result, and every outcome. */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static const uint32_t memories[] = { 0, BRIMFUL_POOL_LIST };

/* Around each size at which something changes: blocks, the step from small blocks to ranges, max_prealloc. */
static const uint64_t sizes[] = {
  0,     1,     2,     3,      4,      5,      6,       7,       8,       9,       4095,        4096,   4097,
  16383, 16384, 16385, 65535,  65536,  65537,  262143,  262144,  262145,  1000000, 16 * MIB - 1, 16 * MIB, 16 * MIB + 1,
};

enum announced { UNKNOWN, LENGTH, LENGTH_AND_END, HINT, HINT_TOO_SMALL, HINT_TOO_BIG };

static brimful_options options_for(uint64_t size, enum announced announced)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  if (announced == LENGTH || announced == LENGTH_AND_END)
    options.length = size;
  if (announced == LENGTH_AND_END)
    options.end = BRIMFUL_END_EOF;
  if (announced == HINT)
    options.size_hint = size;
  if (announced == HINT_TOO_SMALL)
    options.size_hint = size / 2;
  if (announced == HINT_TOO_BIG)
    options.size_hint = size * 2 + 1;
  return options;
}

static void every_size(int exact)
{
  for (size_t memory = 0; memory < ARRAY_LENGTH(memories); memory++) {
    brimful_pool *pool = new_pool(memories[memory]);
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
      for (enum announced announced = UNKNOWN; announced <= HINT_TOO_BIG; announced++) {
        static const size_t pieces[] = { 0, 8000 };
        for (size_t each = 0; each < ARRAY_LENGTH(pieces); each++) {
          brimful_options options = options_for(sizes[i], announced);
          brimful_info info = { .struct_size = sizeof info };
          struct source source = SOURCE(sizes[i]);
          brimful_collector *rest = (brimful_collector *)1;
          brimful_status status;
          options.info = &info;
          source.each = pieces[each];
          if (check_under_tool() && (sizes[i] > MIB || each > 0))
            continue;
          if (exact) {
            void *data;
            size_t length;
            status = brimful_collect_exact(pool, &options, source_read, &source, &data, &length, &rest);
            STATUS(status, BRIMFUL_OK);
            CHECK(data != NULL && length == sizes[i] && is_painted(data, 0, length));
            free(data);
          } else {
            brimful_buffer *buffer;
            status = brimful_collect(pool, &options, source_read, &source, &buffer, &rest);
            STATUS(status, BRIMFUL_OK);
            CHECK(buffer_is_painted(buffer, sizes[i]));
            SAME(brimful_buffer_truncated(buffer), 0);
            brimful_buffer_release(buffer);
          }
          CHECK(rest == NULL);
          STATUS(info.status, BRIMFUL_OK);
          SAME(info.received, sizes[i]);
          SAME(info.length, sizes[i]);
          SAME(info.expected, options.length);
          SAME(info.source_calls, source.calls);
        }
      }
    }
    brimful_pool_release(pool);
  }
}

TEST(a_pooled_body_of_any_size_arrives_whole_however_it_was_announced)
{
  every_size(0);
}

TEST(an_exact_body_of_any_size_arrives_whole_however_it_was_announced)
{
  every_size(1);
}

TEST(a_known_length_up_to_16_MiB_is_one_allocation_and_no_copy_of_an_exact_result)
{
  static const uint64_t lengths[] = { 1, 100, 4096, 1000000, 16 * MIB };
  for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
    brimful_options options = options_for(lengths[i], LENGTH);
    brimful_info info = { .struct_size = sizeof info };
    struct source source = SOURCE(lengths[i]);
    void *data;
    size_t length;
    options.info = &info;
    STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, NULL), BRIMFUL_OK);
    SAME(info.allocations, 1);
    SAME(info.allocated_bytes, lengths[i]);
    SAME(info.copied, 0);
    SAME(info.waste, 0);
    brimful_memory_free(data);
  }
}

TEST(an_unknown_pooled_body_of_100_MB_lies_in_one_piece_and_copies_at_most_1_MiB)
{
  brimful_pool *pool;
  struct source source = SOURCE(100000000);
  brimful_buffer *buffer;
  brimful_info info = { .struct_size = sizeof info };
  if (check_under_tool())
    SKIP("slow under valgrind");
  pool = new_pool(0);
  REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
  STATUS(brimful_buffer_info(buffer, &info), BRIMFUL_OK);
  CHECK(info.copied <= MIB);
  SAME(brimful_buffer_segment_count(buffer), 1);
  CHECK(buffer_is_painted(buffer, 100000000));
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(a_body_in_several_pieces_is_joined_once_and_its_pieces_stay_where_they_are)
{
  brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
  struct source source = SOURCE(1000000);
  brimful_buffer *buffer;
  brimful_slice before[64], after[64];
  brimful_info info = { .struct_size = sizeof info };
  const void *data, *again;
  size_t count, length;
  uint64_t copied;
  REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
  STATUS(brimful_buffer_info(buffer, &info), BRIMFUL_OK);
  copied = info.copied;
  count = brimful_buffer_segments(buffer, 0, before, 64);
  CHECK(count > 1 && count == brimful_buffer_segment_count(buffer));
  STATUS(brimful_buffer_data(buffer, &data, &length), BRIMFUL_OK);
  STATUS(brimful_buffer_data(buffer, &again, &length), BRIMFUL_OK);
  CHECK(data == again && is_painted(data, 0, length));
  STATUS(brimful_buffer_info(buffer, &info), BRIMFUL_OK);
  SAME(info.copied - copied, 1000000);
  SAME(brimful_buffer_segments(buffer, 0, after, 64), count);
  CHECK(memcmp(before, after, count * sizeof *before) == 0);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(a_source_that_pends_hands_the_collector_out_and_goes_on_later)
{
  struct source source = SOURCE(20000);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_info info = { .struct_size = sizeof info };
  brimful_collector *rest;
  brimful_buffer *buffer;
  options.info = &info;
  source.pend_every = 8000;
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, &rest), BRIMFUL_PENDING);
  CHECK(buffer == NULL && rest != NULL);
  STATUS(info.status, BRIMFUL_PENDING);
  SAME(info.received, 8000);
  STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_PENDING);
  STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_OK);
  STATUS(brimful_collector_finish(rest, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 20000));
  brimful_buffer_release(buffer);
  brimful_collector_free(rest);
}

TEST(a_source_that_pends_without_a_place_for_the_collector_is_a_state_error)
{
  struct source source = SOURCE(20000);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_info info = { .struct_size = sizeof info };
  brimful_buffer *buffer;
  void *data;
  size_t length;
  options.info = &info;
  source.pend_every = 8000;
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, NULL), BRIMFUL_ERR_STATE);
  CHECK(buffer == NULL);
  STATUS(info.status, BRIMFUL_ERR_STATE);
  SAME(info.pendings, 1);
  STATUS(brimful_collect_exact(NULL, NULL, source_read, &source, &data, &length, NULL), BRIMFUL_ERR_STATE);
  CHECK(data == NULL && length == 0);
}

/* One outcome that is an error, by both calls: its status, and how much of the body can be taken after it. */
static void ends_with(brimful_options options, struct source source, brimful_status expected, uint64_t partial)
{
  for (int exact = 0; exact < 2; exact++) {
    brimful_info info = { .struct_size = sizeof info };
    struct source once = source;
    brimful_collector *rest;
    brimful_buffer *buffer;
    void *data;
    size_t length;
    options.info = &info;
    if (exact)
      STATUS(brimful_collect_exact(NULL, &options, source_read, &once, &data, &length, &rest), expected);
    else
      STATUS(brimful_collect(NULL, &options, source_read, &once, &buffer, &rest), expected);
    STATUS(info.status, expected);
    REQUIRE(rest != NULL);
    SAME(info_of(rest).state, BRIMFUL_STATE_FAILED);
    STATUS(info_of(rest).status, expected);
    STATUS(brimful_collector_is_complete(rest), expected);
    STATUS(brimful_collector_take_partial(rest, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, partial));
    brimful_buffer_release(buffer);
    brimful_collector_free(rest);
    once = source; /* and with nowhere to put what came */
    if (exact)
      STATUS(brimful_collect_exact(NULL, &options, source_read, &once, &data, &length, NULL), expected);
    else
      STATUS(brimful_collect(NULL, &options, source_read, &once, &buffer, NULL), expected);
  }
}

TEST(a_body_above_its_limit_is_limit_and_its_first_bytes_can_be_taken)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(100001);
  options.limit = 100000;
  ends_with(options, source, BRIMFUL_ERR_LIMIT, 100000);
  options.limit = 0;
  ends_with(options, source, BRIMFUL_ERR_LIMIT, 0);
  options.length = 100001;
  options.limit = 100000;
  ends_with(options, source, BRIMFUL_ERR_LIMIT, 0); /* refused before the source was asked */
}

TEST(a_body_of_exactly_its_limit_is_fine_and_is_not_truncated)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(100000);
  brimful_buffer *buffer;
  options.limit = 100000;
  options.flags = BRIMFUL_TRUNCATE;
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 100000));
  SAME(brimful_buffer_truncated(buffer), 0);
  brimful_buffer_release(buffer);
}

TEST(truncation_cuts_at_the_limit_and_says_so)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_info info = { .struct_size = sizeof info };
  struct source source = SOURCE(5000);
  brimful_buffer *buffer;
  options.limit = 1234;
  options.flags = BRIMFUL_TRUNCATE;
  options.info = &info;
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1234));
  SAME(brimful_buffer_truncated(buffer), 1);
  SAME(info.truncated, 1);
  CHECK(source.given <= 1235);
  brimful_buffer_release(buffer);
}

TEST(a_body_below_its_length_is_short_and_one_above_it_is_long)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(500);
  options.length = 501;
  ends_with(options, source, BRIMFUL_ERR_SHORT, 500);
  options.end = BRIMFUL_END_EOF;
  ends_with(options, source, BRIMFUL_ERR_SHORT, 500);
  options.length = 499;
  ends_with(options, source, BRIMFUL_ERR_LONG, 499);
}

TEST(a_source_s_own_error_keeps_its_number_and_the_bytes_before_it)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(70000);
  brimful_info info = { .struct_size = sizeof info };
  brimful_buffer *buffer;
  source.then = -77;
  ends_with(options, source, BRIMFUL_ERR_SOURCE, 70000);
  options.info = &info;
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, NULL), BRIMFUL_ERR_SOURCE);
  SAME(info.source_error, -77);
  source.given = 0;
  source.then = BRIMFUL_ERR_LIMIT; /* one of the library's own numbers is just a number here */
  STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, NULL), BRIMFUL_ERR_SOURCE);
  SAME(info.source_error, BRIMFUL_ERR_LIMIT);
}

TEST(a_source_that_retries_forever_makes_no_progress)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(300);
  source.then = BRIMFUL_RETRY;
  ends_with(options, source, BRIMFUL_ERR_NO_PROGRESS, 300);
}

TEST(a_triggered_cancel_object_ends_a_body_before_its_source_is_asked)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(300);
  REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
  brimful_cancel_trigger(options.cancel);
  brimful_cancel_trigger(options.cancel);
  ends_with(options, source, BRIMFUL_ERR_CANCELLED, 0);
  brimful_cancel_release(options.cancel);
}

TEST(a_pool_s_limit_holds_for_bodies_that_have_none_and_gives_way_to_their_own)
{
  brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(200);
  brimful_buffer *buffer;
  brimful_pool *pool;
  pool_options.limit = 100;
  REQUIRE(brimful_pool_new(&pool_options, &pool) == BRIMFUL_OK);
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_ERR_LIMIT);
  options.limit = 200;
  source.given = 0;
  STATUS(brimful_collect(pool, &options, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(a_used_up_budget_is_an_error_at_once_and_room_for_the_next_body_later)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  struct source source = SOURCE(10000000);
  brimful_collector *rest;
  brimful_buffer *buffer;
  brimful_pool *pool;
  options.budget = 1 << 20;
  REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, &rest), BRIMFUL_ERR_BUDGET);
  REQUIRE(rest != NULL);
  SAME(info_of(rest).state, BRIMFUL_STATE_OPEN); /* nothing changed */
  STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_ERR_BUDGET);
  STATUS(brimful_collector_take_partial(rest, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, source.given));
  brimful_buffer_release(buffer);
  brimful_collector_free(rest);
  source.given = 0;
  source.length = 100000;
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(to_exact_copies_a_pooled_body_and_leaves_it_as_it_is)
{
  static const uint64_t lengths[] = { 0, 1, 1000000 };
  for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
    brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
    struct source source = SOURCE(lengths[i]);
    brimful_buffer *buffer;
    void *data;
    size_t length;
    REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
    STATUS(brimful_buffer_to_exact(buffer, NULL, &data, &length), BRIMFUL_OK);
    CHECK(data != NULL && length == lengths[i] && is_painted(data, 0, length));
    free(data);
    CHECK(buffer_is_painted(buffer, lengths[i]));
    brimful_buffer_release(buffer);
    brimful_pool_release(pool);
  }
}

TEST(a_pool_may_go_before_its_buffers_and_collectors)
{
  brimful_pool *pool = new_pool(0);
  struct source source = SOURCE(300000);
  brimful_collector *collector;
  brimful_buffer *first, *second;
  REQUIRE(brimful_collect(pool, NULL, source_read, &source, &first, NULL) == BRIMFUL_OK);
  REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
  brimful_pool_release(pool);
  source.given = 0;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &second), BRIMFUL_OK);
  CHECK(buffer_is_painted(first, 300000) && buffer_is_painted(second, 300000));
  brimful_buffer_release(first);
  brimful_collector_free(collector);
  brimful_buffer_release(second);
}

TEST(a_pool_s_numbers_add_up_and_trimming_gives_everything_back)
{
  for (size_t memory = 0; memory < ARRAY_LENGTH(memories); memory++) {
    brimful_pool *pool = new_pool(memories[memory]);
    brimful_pool_statistics s = { .struct_size = sizeof s };
    brimful_buffer *buffers[5];
    for (size_t i = 0; i < 5; i++) {
      struct source source = SOURCE(UINT64_C(10) << (4 * i));
      STATUS(brimful_collect(pool, NULL, source_read, &source, &buffers[i], NULL), BRIMFUL_OK);
    }
    for (size_t i = 0; i < 5; i += 2)
      brimful_buffer_release(buffers[i]);
    STATUS(brimful_pool_stats(pool, &s), BRIMFUL_OK);
    SAME(s.allocated - s.freed, s.outstanding + s.retained);
    SAME(s.allocated_bytes - s.freed_bytes, s.outstanding_bytes + s.retained_bytes);
    SAME(s.rented - s.released, s.outstanding);
    CHECK(s.retained > 0 && s.peak_bytes >= s.outstanding_bytes + s.retained_bytes);
    SAME(brimful_pool_trim(pool, 0), s.retained_bytes);
    brimful_buffer_release(buffers[1]);
    brimful_buffer_release(buffers[3]);
    brimful_pool_trim(pool, 0);
    STATUS(brimful_pool_stats(pool, &s), BRIMFUL_OK);
    SAME(s.outstanding + s.outstanding_bytes + s.retained + s.retained_bytes, 0);
    SAME(s.allocated, s.freed);
    SAME(s.allocated_bytes, s.freed_bytes);
    brimful_pool_release(pool);
  }
}

TEST(a_pool_keeps_no_more_than_it_was_told_to)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool_statistics s = { .struct_size = sizeof s };
  brimful_pool *pool;
  for (uint64_t most = 0; most <= 4 * MIB; most = most * 4 + 100000) {
    options.max_retained = most;
    REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
    for (size_t i = 0; i < 8; i++) {
      struct source source = SOURCE(UINT64_C(50000) << i);
      brimful_buffer *buffer;
      STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
      brimful_buffer_release(buffer);
      STATUS(brimful_pool_stats(pool, &s), BRIMFUL_OK);
      CHECK(s.retained_bytes <= most);
    }
    brimful_pool_release(pool);
  }
}

static brimful_status looks_at_its_window(void *context, void *window, size_t room, size_t *filled)
{
  const unsigned char *bytes = window;
  int *dirty = context;
  for (size_t i = 0; i < room; i++)
    *dirty |= bytes[i];
  paint(window, 0, room);
  *filled = 0;
  return BRIMFUL_OK;
}

TEST(scrubbing_clears_every_window_by_the_body_s_flag_and_by_the_pool_s)
{
  for (int by_pool = 0; by_pool < 2; by_pool++) {
    brimful_pool *pool = new_pool(by_pool ? BRIMFUL_POOL_SCRUB : 0);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    options.flags = by_pool ? 0 : BRIMFUL_SCRUB;
    for (int i = 0; i < 4; i++) {
      struct source source = SOURCE(i % 2 == 0 ? 16000 : 3000000);
      brimful_buffer *buffer;
      int dirty = 0;
      STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
      brimful_buffer_release(buffer);
      STATUS(brimful_collect(pool, &options, looks_at_its_window, &dirty, &buffer, NULL), BRIMFUL_OK);
      brimful_buffer_release(buffer);
      CHECK(dirty == 0);
    }
    brimful_pool_release(pool);
  }
}
