/* Slices of pooled results, what they keep alive, cutting them loose, and zero bytes behind results (E4, E38, E39). */
#include "check.h"
#include "source.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static brimful_pool_statistics statistics_of(const brimful_pool *pool)
{
  brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
  STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
  return statistics;
}

static brimful_buffer *body_of(brimful_pool *pool, uint64_t length)
{
  struct source source = SOURCE(length);
  brimful_buffer *buffer;
  if (brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) != BRIMFUL_OK)
    abort();
  return buffer;
}

/* Whether the buffer shows bytes `offset` on of a body, in pieces and in one. */
static int shows(const brimful_buffer *buffer, uint64_t offset, size_t length)
{
  uint64_t seen = 0;
  const void *data;
  brimful_slice slice;
  size_t whole;
  for (size_t i = 0; brimful_buffer_segments(buffer, i, &slice, 1) == 1; i++) {
    if (!is_painted(slice.data, offset + seen, slice.length))
      return 0;
    seen += slice.length;
  }
  return seen == length && brimful_buffer_length(buffer) == length &&
         brimful_buffer_data(buffer, &data, &whole) == BRIMFUL_OK && whole == length && is_painted(data, offset, length);
}

TEST(a_slice_shows_its_part_without_a_copy_and_outlives_what_it_was_cut_from)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    static const size_t parts[][2] = { { 0, 0 }, { 0, 1 }, { 0, 200000 }, { 199999, 1 }, { 200000, 0 }, { 16383, 2 },
                                       { 10000, 150000 } };
    brimful_pool *pool = new_pool(flags);
    brimful_buffer *slices[ARRAY_LENGTH(parts)], *of_slice, *buffer = body_of(pool, 200000);
    brimful_info whole = { .struct_size = sizeof whole }, part = { .struct_size = sizeof part };
    uint64_t held = statistics_of(pool).outstanding_bytes;
    STATUS(brimful_buffer_info(buffer, &whole), BRIMFUL_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
      STATUS(brimful_buffer_slice(buffer, parts[i][0], parts[i][1], &slices[i]), BRIMFUL_OK);
      STATUS(brimful_buffer_info(slices[i], &part), BRIMFUL_OK);
      CHECK(part.length == parts[i][1] && part.copied == whole.copied);
    }
    SAME(statistics_of(pool).outstanding_bytes, held);
    brimful_buffer_release(buffer);
    SAME(statistics_of(pool).outstanding_bytes, held); /* each slice keeps it */
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
      CHECK(shows(slices[i], parts[i][0], parts[i][1]));
    STATUS(brimful_buffer_slice(slices[6], 5000, 100000, &of_slice), BRIMFUL_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
      brimful_buffer_release(slices[i]);
    CHECK(shows(of_slice, 15000, 100000));
    brimful_buffer_release(of_slice);
    SAME(statistics_of(pool).outstanding, 0);
    SAME(statistics_of(pool).outstanding_bytes, 0);
    brimful_pool_release(pool);
  }
}

TEST(a_slice_that_is_not_within_its_buffer_or_has_no_place_is_invalid)
{
  brimful_buffer *buffer = body_of(NULL, 100), *slice = (brimful_buffer *)1, *empty;
  static const size_t wrong[][2] = { { 0, 101 }, { 100, 1 }, { 101, 0 }, { 1, SIZE_MAX }, { SIZE_MAX, 1 },
                                     { SIZE_MAX, SIZE_MAX }, { 0, SIZE_MAX }, { SIZE_MAX, 0 } };
  for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
    slice = (brimful_buffer *)1;
    STATUS(brimful_buffer_slice(buffer, wrong[i][0], wrong[i][1], &slice), BRIMFUL_ERR_INVALID);
    CHECK(slice == NULL);
  }
  slice = (brimful_buffer *)1;
  STATUS(brimful_buffer_slice(NULL, 0, 0, &slice), BRIMFUL_ERR_INVALID);
  CHECK(slice == NULL);
  STATUS(brimful_buffer_slice(buffer, 0, 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_detach(NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_slice(buffer, 50, 0, &empty), BRIMFUL_OK);
  SAME(brimful_buffer_segment_count(empty), 0);
  STATUS(brimful_buffer_detach(empty), BRIMFUL_OK);
  CHECK(shows(empty, 0, 0));
  brimful_buffer_release(empty);
  CHECK(shows(buffer, 0, 100));
  brimful_buffer_release(buffer);
}

TEST(a_detached_slice_lets_the_body_go_and_shows_the_same_bytes)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool *pool = new_pool(flags);
    brimful_buffer *buffer = body_of(pool, 3000000), *slice, *held;
    STATUS(brimful_buffer_slice(buffer, 1500000, 100, &slice), BRIMFUL_OK);
    held = brimful_buffer_retain(slice);
    brimful_buffer_release(buffer);
    CHECK(statistics_of(pool).outstanding_bytes >= 3000000);
    STATUS(brimful_buffer_detach(slice), BRIMFUL_OK);
    CHECK(statistics_of(pool).outstanding_bytes <= 16384);
    CHECK(statistics_of(pool).retained_bytes >= 3000000 - 16384); /* it serves the next body */
    CHECK(shows(slice, 1500000, 100) && shows(held, 1500000, 100));
    STATUS(brimful_buffer_detach(slice), BRIMFUL_OK); /* nothing more to let go of */
    brimful_buffer_release(slice);
    CHECK(shows(held, 1500000, 100));
    brimful_buffer_release(held);
    SAME(statistics_of(pool).outstanding, 0);
    brimful_pool_release(pool);
  }
}

TEST(detaching_what_is_no_part_copies_nothing)
{
  brimful_pool *pool = new_pool(0);
  brimful_buffer *buffer = body_of(pool, 1000), *whole;
  const void *before, *after;
  size_t length;
  STATUS(brimful_buffer_data(buffer, &before, &length), BRIMFUL_OK);
  STATUS(brimful_buffer_detach(buffer), BRIMFUL_OK);
  STATUS(brimful_buffer_slice(buffer, 0, 1000, &whole), BRIMFUL_OK);
  STATUS(brimful_buffer_detach(whole), BRIMFUL_OK);
  STATUS(brimful_buffer_data(whole, &after, &length), BRIMFUL_OK);
  CHECK(before == after && length == 1000);
  SAME(statistics_of(pool).rented, 1);
  brimful_buffer_release(whole);
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

TEST(a_slice_that_cannot_be_detached_for_the_budget_stays_as_it_is)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  brimful_buffer *buffer, *slice;
  brimful_slice piece;
  options.budget = 16384;
  REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  buffer = body_of(pool, 10000);
  STATUS(brimful_buffer_slice(buffer, 100, 100, &slice), BRIMFUL_OK);
  SAME(brimful_buffer_segments(slice, 0, &piece, 1), 1);
  STATUS(brimful_buffer_detach(slice), BRIMFUL_ERR_BUDGET);
  CHECK(is_painted(piece.data, 100, piece.length) && shows(slice, 100, 100));
  brimful_buffer_release(buffer);
  STATUS(brimful_buffer_detach(slice), BRIMFUL_ERR_BUDGET); /* it holds the whole body still */
  brimful_buffer_release(slice);
  brimful_pool_release(pool);
}

static void *slices_and_detaches(void *context)
{
  for (size_t i = 0; i < 300; i++) {
    brimful_buffer *slice;
    STATUS(brimful_buffer_slice(context, i * 100, 1000, &slice), BRIMFUL_OK);
    if (i % 3 == 0)
      STATUS(brimful_buffer_detach(slice), BRIMFUL_OK);
    CHECK(shows(slice, i * 100, 1000));
    brimful_buffer_release(slice);
  }
  brimful_buffer_release(context);
  return NULL;
}

TEST(one_buffer_is_sliced_on_many_threads_and_each_slice_is_released_on_its_own)
{
  brimful_pool *pool = new_pool(0);
  brimful_buffer *buffer = body_of(pool, 100000);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    REQUIRE(pthread_create(&threads[i], NULL, slices_and_detaches, brimful_buffer_retain(buffer)) == 0);
  brimful_buffer_release(buffer);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  SAME(statistics_of(pool).outstanding, 0);
  brimful_pool_release(pool);
}

TEST(pieces_that_were_shown_stay_valid_over_a_join_and_over_slices_of_the_buffer)
{
  brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
  brimful_buffer *buffer = body_of(pool, 300000), *slice;
  brimful_slice kept[16];
  size_t count = brimful_buffer_segments(buffer, 0, kept, 16), length;
  uint64_t offset = 0;
  const void *joined, *again;
  CHECK(count > 1);
  STATUS(brimful_buffer_data(buffer, &joined, &length), BRIMFUL_OK);
  STATUS(brimful_buffer_slice(buffer, 10, 200000, &slice), BRIMFUL_OK);
  STATUS(brimful_buffer_detach(slice), BRIMFUL_OK);
  brimful_buffer_release(slice);
  brimful_buffer_release(body_of(pool, 300000)); /* other bodies come and go meanwhile */
  for (size_t i = 0; i < count; i++) {
    CHECK(is_painted(kept[i].data, offset, kept[i].length));
    offset += kept[i].length;
  }
  SAME(offset, 300000);
  STATUS(brimful_buffer_data(buffer, &again, &length), BRIMFUL_OK);
  CHECK(joined == again && is_painted(joined, 0, 300000));
  brimful_buffer_release(buffer);
  brimful_pool_release(pool);
}

static int is_zero(const void *data, size_t length)
{
  const unsigned char *bytes = data;
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] != 0)
      return 0;
  }
  return 1;
}

TEST(zero_bytes_are_readable_behind_exact_and_contiguous_results_and_are_not_counted)
{
  static const uint64_t lengths[] = { 0, 1, 4096, 16384, 65536, 300000 };
  static const uint32_t paddings[] = { 1, 64, 65536 };
  for (size_t i = 0; i < ARRAY_LENGTH(lengths) * ARRAY_LENGTH(paddings) * 4; i++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    uint64_t n = lengths[i / 4 % ARRAY_LENGTH(lengths)];
    struct source source = SOURCE(n), again = SOURCE(n);
    brimful_pool *pool = new_pool(i % 2 == 0 ? 0 : BRIMFUL_POOL_LIST);
    brimful_buffer *buffer;
    const void *view;
    void *data;
    size_t length;
    options.padding = paddings[i / 4 / ARRAY_LENGTH(lengths)];
    if (i / 2 % 2 == 1)
      options.length = n;
    STATUS(brimful_collect(pool, &options, source_read, &source, &buffer, NULL), BRIMFUL_OK);
    SAME(brimful_buffer_length(buffer), n);
    STATUS(brimful_buffer_data(buffer, &view, &length), BRIMFUL_OK);
    CHECK(length == n && is_painted(view, 0, length) && is_zero((const char *)view + length, options.padding));
    STATUS(brimful_buffer_to_exact(buffer, NULL, &data, &length), BRIMFUL_OK);
    CHECK(length == n && is_painted(data, 0, length) && is_zero((const char *)data + length, options.padding));
    free(data);
    brimful_buffer_release(buffer);
    STATUS(brimful_collect_exact(pool, &options, source_read, &again, &data, &length, NULL), BRIMFUL_OK);
    CHECK(length == n && is_painted(data, 0, length) && is_zero((const char *)data + length, options.padding));
    free(data);
    brimful_pool_release(pool);
  }
}
