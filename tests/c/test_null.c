/* NULL and 0 in every place, and sizes near the largest number. */
#include "check.h"
#include "source.h"

#include <string.h>

TEST(one_shot_calls_refuse_what_may_not_be_null_and_clear_what_they_would_have_filled)
{
  struct source source = SOURCE(10);
  brimful_buffer *buffer = (brimful_buffer *)1;
  brimful_collector *rest = (brimful_collector *)1;
  void *data = (void *)1;
  size_t length = 1;
  STATUS(brimful_collect(NULL, NULL, NULL, NULL, &buffer, &rest), BRIMFUL_ERR_INVALID);
  CHECK(buffer == NULL && rest == NULL);
  rest = (brimful_collector *)1;
  STATUS(brimful_collect(NULL, NULL, source_read, &source, NULL, &rest), BRIMFUL_ERR_INVALID);
  CHECK(rest == NULL);
  STATUS(brimful_collect_exact(NULL, NULL, NULL, NULL, &data, &length, &rest), BRIMFUL_ERR_INVALID);
  CHECK(data == NULL && length == 0);
  length = 1;
  STATUS(brimful_collect_exact(NULL, NULL, source_read, &source, NULL, &length, NULL), BRIMFUL_ERR_INVALID);
  CHECK(length == 0);
  data = (void *)1;
  STATUS(brimful_collect_exact(NULL, NULL, source_read, &source, &data, NULL, NULL), BRIMFUL_ERR_INVALID);
  CHECK(data == NULL);
  SAME(source.calls, 0);
}

TEST(calls_on_no_collector_are_invalid_or_count_nothing)
{
  brimful_info info = { .struct_size = sizeof info };
  brimful_buffer *buffer;
  brimful_slice slice;
  void *data;
  size_t size;
  STATUS(brimful_collector_new(NULL, NULL, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_read(NULL, source_read, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_reserve(NULL, 0, &data, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_commit(NULL, 0), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_write(NULL, "x", 1, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_write(NULL, NULL, 0, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_end(NULL), BRIMFUL_ERR_INVALID);
  SAME(brimful_collector_copy(NULL, 0, &slice, 1), 0);
  SAME(brimful_collector_segments(NULL, 0, &slice, 1), 0);
  STATUS(brimful_collector_is_complete(NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_finish(NULL, &buffer), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_finish_exact(NULL, &data, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_take_partial(NULL, &buffer), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_reset(NULL, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_info(NULL, &info), BRIMFUL_ERR_INVALID);
  brimful_collector_free(NULL);
}

TEST(a_collector_refuses_null_where_it_may_not_be_and_stays_as_it_was)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  void *data = (void *)1;
  size_t size = 1;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, NULL, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_reserve(collector, 0, NULL, &size), BRIMFUL_ERR_INVALID);
  CHECK(size == 0);
  STATUS(brimful_collector_reserve(collector, 0, &data, NULL), BRIMFUL_ERR_INVALID);
  CHECK(data == NULL);
  SAME(info_of(collector).state, BRIMFUL_STATE_OPEN);
  STATUS(brimful_collector_write(collector, NULL, 1, NULL), BRIMFUL_ERR_INVALID);
  size = 1;
  STATUS(brimful_collector_write(collector, NULL, 1, &size), BRIMFUL_ERR_INVALID);
  CHECK(size == 0);
  STATUS(brimful_collector_write(collector, NULL, 0, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, NULL, 0, &size), BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, "abc", 3, NULL), BRIMFUL_OK);
  SAME(brimful_collector_copy(collector, 0, NULL, 0), 0);
  SAME(brimful_collector_copy(collector, 0, NULL, 5), 0);
  SAME(brimful_collector_segments(collector, 0, NULL, 0), 0);
  SAME(brimful_collector_segments(collector, 0, NULL, 5), 0);
  STATUS(brimful_collector_info(collector, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_take_partial(collector, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_finish_exact(collector, NULL, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_finish_exact(collector, &data, NULL), BRIMFUL_ERR_INVALID);
  SAME(info_of(collector).state, BRIMFUL_STATE_COMPLETE);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  SAME(brimful_buffer_length(buffer), 3);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

TEST(calls_on_no_buffer_are_invalid_or_count_nothing)
{
  brimful_info info = { .struct_size = sizeof info };
  brimful_slice slice;
  const void *view = (const void *)1;
  void *data = (void *)1;
  size_t size = 1;
  SAME(brimful_buffer_length(NULL), 0);
  SAME(brimful_buffer_truncated(NULL), 0);
  STATUS(brimful_buffer_info(NULL, &info), BRIMFUL_ERR_INVALID);
  SAME(brimful_buffer_segment_count(NULL), 0);
  SAME(brimful_buffer_segments(NULL, 0, &slice, 1), 0);
  STATUS(brimful_buffer_data(NULL, &view, &size), BRIMFUL_ERR_INVALID);
  CHECK(view == NULL && size == 0);
  SAME(brimful_buffer_copy(NULL, 0, &slice, 1), 0);
  size = 1;
  STATUS(brimful_buffer_to_exact(NULL, NULL, &data, &size), BRIMFUL_ERR_INVALID);
  CHECK(data == NULL && size == 0);
  CHECK(brimful_buffer_retain(NULL) == NULL);
  brimful_buffer_release(NULL);
  brimful_memory_free(NULL);
}

TEST(a_buffer_refuses_null_where_it_may_not_be)
{
  struct source source = SOURCE(10);
  brimful_buffer *buffer;
  const void *view;
  void *data;
  size_t size;
  REQUIRE(brimful_collect(NULL, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
  STATUS(brimful_buffer_info(buffer, NULL), BRIMFUL_ERR_INVALID);
  SAME(brimful_buffer_segments(buffer, 0, NULL, 0), 0);
  SAME(brimful_buffer_segments(buffer, 0, NULL, 5), 0);
  STATUS(brimful_buffer_data(buffer, NULL, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_data(buffer, &view, NULL), BRIMFUL_ERR_INVALID);
  SAME(brimful_buffer_copy(buffer, 0, NULL, 0), 0);
  SAME(brimful_buffer_copy(buffer, 0, NULL, 5), 0);
  STATUS(brimful_buffer_to_exact(buffer, NULL, NULL, &size), BRIMFUL_ERR_INVALID);
  STATUS(brimful_buffer_to_exact(buffer, NULL, &data, NULL), BRIMFUL_ERR_INVALID);
  brimful_buffer_release(buffer);
}

TEST(no_pool_is_the_default_pool_and_releasing_it_does_nothing)
{
  brimful_pool_statistics before = { .struct_size = sizeof before }, after = { .struct_size = sizeof after };
  struct source source = SOURCE(10);
  brimful_buffer *buffer;
  CHECK(brimful_pool_default() != NULL && brimful_pool_default() == brimful_pool_default());
  STATUS(brimful_pool_stats(NULL, &before), BRIMFUL_OK);
  brimful_pool_release(brimful_pool_default());
  brimful_pool_release(brimful_pool_default());
  brimful_pool_release(NULL);
  STATUS(brimful_collect(brimful_pool_default(), NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
  brimful_buffer_release(buffer);
  STATUS(brimful_pool_stats(brimful_pool_default(), &after), BRIMFUL_OK);
  SAME(after.rented, before.rented + 1);
  STATUS(brimful_pool_stats(NULL, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_pool_new(NULL, NULL), BRIMFUL_ERR_INVALID);
  brimful_pool *own;
  STATUS(brimful_pool_new(NULL, &own), BRIMFUL_OK); /* every default */
  CHECK(own != NULL && own != brimful_pool_default());
  brimful_pool_release(own);
  brimful_pool_trim(NULL, UINT64_MAX);
}

TEST(no_cancel_object_is_invalid_or_does_nothing)
{
  STATUS(brimful_cancel_new(NULL), BRIMFUL_ERR_INVALID);
  CHECK(brimful_cancel_retain(NULL) == NULL);
  brimful_cancel_trigger(NULL);
  brimful_cancel_release(NULL);
}

TEST(sizes_near_the_largest_number_are_errors_or_cut_and_never_wrap)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(10);
  brimful_collector *collector;
  brimful_buffer *buffer;
  brimful_slice slice;
  unsigned char bytes[16];
  void *window;
  size_t room;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, "abc", SIZE_MAX, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_write(collector, "abc", (size_t)PTRDIFF_MAX + 1, &room), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_reserve(collector, SIZE_MAX, &window, &room), BRIMFUL_OK);
  CHECK(room > 0 && room <= 1 << 20);
  STATUS(brimful_collector_commit(collector, SIZE_MAX), BRIMFUL_ERR_CONTRACT);
  STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  SAME(brimful_collector_copy(collector, UINT64_MAX, bytes, sizeof bytes), 0);
  SAME(brimful_collector_copy(collector, 4, bytes, SIZE_MAX), 6);
  CHECK(is_painted(bytes, 4, 6));
  SAME(brimful_collector_segments(collector, SIZE_MAX, &slice, 1), 0);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  SAME(brimful_buffer_copy(buffer, SIZE_MAX, bytes, sizeof bytes), 0);
  SAME(brimful_buffer_copy(buffer, 4, bytes, SIZE_MAX), 6);
  SAME(brimful_buffer_segments(buffer, SIZE_MAX, &slice, 1), 0);
  brimful_buffer_release(buffer);

  options.size_hint = UINT64_MAX - 1;
  options.max_prealloc = UINT64_MAX;
  STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
  source.given = 0;
  brimful_status status = brimful_collector_read(collector, source_read, &source);
  CHECK(status == BRIMFUL_OK || status == BRIMFUL_ERR_NO_MEMORY);
  options.size_hint = BRIMFUL_UNKNOWN;
  options.length = UINT64_MAX - 1;
  STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_ERR_LIMIT);
  brimful_collector_free(collector);
}
