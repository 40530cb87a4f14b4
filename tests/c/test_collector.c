/* The collector step by step: windows, pushes, suspension, looking at what has come. */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

static brimful_collector *new_collector(const brimful_options *options)
{
  brimful_collector *collector;
  if (brimful_collector_new(NULL, options, &collector) != BRIMFUL_OK)
    abort();
  return collector;
}

static void finish_painted(brimful_collector *collector, uint64_t length)
{
  brimful_buffer *buffer;
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, length));
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

TEST(windows_are_filled_and_committed_until_the_end_is_said)
{
  brimful_collector *collector = new_collector(NULL);
  uint64_t given = 0;
  while (given < 300000) {
    void *window, *same;
    size_t room, again;
    STATUS(brimful_collector_reserve(collector, 7000, &window, &room), BRIMFUL_OK);
    STATUS(brimful_collector_reserve(collector, 1, &same, &again), BRIMFUL_OK);
    CHECK(window == same && room == again);
    if (room > 300000 - given)
      room = (size_t)(300000 - given);
    paint(window, given, room);
    STATUS(brimful_collector_commit(collector, room), BRIMFUL_OK);
    given += room;
    SAME(brimful_collector_is_complete(collector), 0);
  }
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  SAME(brimful_collector_is_complete(collector), 1);
  finish_painted(collector, 300000);
}

TEST(a_commit_of_nothing_is_not_the_end_and_one_above_the_room_is_a_breach)
{
  brimful_collector *collector = new_collector(NULL);
  brimful_buffer *buffer;
  void *window;
  size_t room;
  STATUS(brimful_collector_write(collector, "", 1, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_reserve(collector, 0, &window, &room), BRIMFUL_OK);
  STATUS(brimful_collector_commit(collector, 0), BRIMFUL_OK);
  SAME(brimful_collector_is_complete(collector), 0);
  STATUS(brimful_collector_reserve(collector, 0, &window, &room), BRIMFUL_OK);
  STATUS(brimful_collector_commit(collector, room + 1), BRIMFUL_ERR_CONTRACT);
  STATUS(brimful_collector_is_complete(collector), BRIMFUL_ERR_CONTRACT);
  STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1));
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

TEST(a_collector_may_be_freed_while_its_window_is_out)
{
  brimful_collector *collector = new_collector(NULL);
  void *window;
  size_t room;
  STATUS(brimful_collector_reserve(collector, 0, &window, &room), BRIMFUL_OK);
  brimful_collector_free(collector);
}

TEST(pushes_of_any_size_arrive_whole)
{
  static const size_t pieces[] = { 1, 7, 4096, 16384, 100000 };
  unsigned char *body = malloc(100000);
  paint(body, 0, 100000);
  for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
    brimful_collector *collector = new_collector(NULL);
    for (size_t at = 0; at < 100000; at += pieces[i]) {
      size_t length = 100000 - at < pieces[i] ? 100000 - at : pieces[i];
      STATUS(brimful_collector_write(collector, body + at, length, NULL), BRIMFUL_OK);
    }
    STATUS(brimful_collector_end(collector), BRIMFUL_OK);
    finish_painted(collector, 100000);
  }
  free(body);
}

TEST(a_push_that_says_what_was_taken_leaves_the_head_of_the_next_value)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  unsigned char stream[30];
  size_t taken, at = 0;
  options.length = 10;
  collector = new_collector(&options);
  for (int i = 0; i < 3; i++)
    paint(stream + 10 * i, 0, 10);
  for (int body = 0; body < 3; body++) { /* three values in one stream */
    brimful_buffer *buffer;
    STATUS(brimful_collector_write(collector, stream + at, sizeof stream - at, &taken), BRIMFUL_OK);
    SAME(taken, 10);
    at += taken;
    SAME(brimful_collector_is_complete(collector), 1);
    STATUS(brimful_collector_write(collector, "x", 1, &taken), BRIMFUL_OK);
    SAME(taken, 0);
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 10));
    brimful_buffer_release(buffer);
    STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
  }
  STATUS(brimful_collector_write(collector, stream, 11, NULL), BRIMFUL_ERR_LONG);
  SAME(info_of(collector).received, 11);
  brimful_collector_free(collector);
}

TEST(an_end_before_the_announced_length_is_short)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  options.length = 10;
  collector = new_collector(&options);
  STATUS(brimful_collector_write(collector, "abc", 3, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_end(collector), BRIMFUL_ERR_SHORT);
  STATUS(brimful_collector_end(collector), BRIMFUL_ERR_SHORT);
  brimful_collector_free(collector);
}

TEST(read_push_and_window_may_be_mixed_in_one_body)
{
  brimful_collector *collector = new_collector(NULL);
  struct source source = SOURCE(60000);
  unsigned char *bytes = malloc(60000);
  void *window;
  size_t room;
  source.pend_every = 20000;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
  paint(bytes, 20000, 20000);
  STATUS(brimful_collector_write(collector, bytes, 20000, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_reserve(collector, 0, &window, &room), BRIMFUL_OK);
  CHECK(room >= 1000);
  paint(window, 40000, 1000);
  STATUS(brimful_collector_commit(collector, 1000), BRIMFUL_OK);
  source.given = 41000;
  source.pend_every = 0;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  finish_painted(collector, 60000);
  free(bytes);
}

TEST(what_has_arrived_can_be_looked_at_while_the_body_is_suspended)
{
  brimful_collector *collector = new_collector(NULL);
  struct source source = SOURCE(50000);
  unsigned char bytes[4000];
  uint64_t seen = 0;
  source.pend_every = 3000;
  brimful_status status;
  while ((status = brimful_collector_read(collector, source_read, &source)) == BRIMFUL_PENDING) {
    size_t count = brimful_collector_copy(collector, seen, bytes, sizeof bytes);
    SAME(count, 3000);
    CHECK(is_painted(bytes, seen, count));
    seen += count;
    brimful_slice slices[16];
    uint64_t offset = 0;
    size_t pieces = brimful_collector_segments(collector, 0, slices, 16);
    for (size_t i = 0; i < pieces; i++) {
      CHECK(is_painted(slices[i].data, offset, slices[i].length));
      offset += slices[i].length;
    }
    SAME(offset, seen);
  }
  STATUS(status, BRIMFUL_OK);
  finish_painted(collector, 50000);
}

TEST(a_suspended_body_may_stop_a_thousand_times_without_a_byte)
{
  brimful_collector *collector = new_collector(NULL);
  struct source source = SOURCE(10);
  source.then = BRIMFUL_PENDING;
  for (int i = 0; i < 2000; i++)
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
  source.then = BRIMFUL_OK;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  SAME(info_of(collector).pendings, 2000);
  finish_painted(collector, 10);
}

TEST(a_body_of_known_length_is_complete_without_asking_for_more)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(100);
  brimful_collector *collector;
  options.length = 60;
  collector = new_collector(&options);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  SAME(source.given, 60);
  SAME(source.largest_room, 60);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  SAME(source.calls, 1);
  finish_painted(collector, 60);
}

TEST(no_window_is_larger_than_max_window_nor_than_the_limit_allows)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(500000);
  brimful_collector *collector;
  options.max_window = 5000;
  collector = new_collector(&options);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  CHECK(source.largest_room <= 5000);
  finish_painted(collector, 500000);

  struct source small = SOURCE(10);
  options.limit = 10;
  collector = new_collector(&options);
  STATUS(brimful_collector_read(collector, source_read, &small), BRIMFUL_OK);
  SAME(small.largest_room, 11);
  finish_painted(collector, 10);
}

TEST(an_exact_result_of_length_0_is_a_pointer_that_can_be_freed)
{
  brimful_collector *collector = new_collector(NULL);
  void *data;
  size_t length = 1;
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  STATUS(brimful_collector_finish_exact(collector, &data, &length), BRIMFUL_OK);
  CHECK(data != NULL && length == 0);
  free(data);
  brimful_collector_free(collector);
}

TEST(a_pooled_body_can_be_finished_exact_and_an_exact_one_pooled)
{
  for (int exact = 0; exact < 2; exact++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    struct source source = SOURCE(30000);
    brimful_collector *collector;
    options.length = 30000;
    options.prefer = exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
    collector = new_collector(&options);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
    if (exact) {
      finish_painted(collector, 30000);
    } else {
      void *data;
      size_t length;
      STATUS(brimful_collector_finish_exact(collector, &data, &length), BRIMFUL_OK);
      CHECK(length == 30000 && is_painted(data, 0, length));
      free(data);
      brimful_collector_free(collector);
    }
  }
}

/* What one body cost, read with `pend_every` bytes between two stops. */
static brimful_info cost_of(uint64_t length, size_t pend_every, int known, uint32_t prefer, uint64_t *stops)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(length);
  brimful_pool *pool = new_pool(0);
  brimful_collector *collector;
  brimful_status status;
  brimful_info info;
  source.each = 8000;
  source.pend_every = pend_every;
  options.prefer = prefer;
  if (known)
    options.length = length;
  if (brimful_collector_new(pool, &options, &collector) != BRIMFUL_OK)
    abort();
  for (*stops = 0; (status = brimful_collector_read(collector, source_read, &source)) == BRIMFUL_PENDING;)
    (*stops)++;
  STATUS(status, BRIMFUL_OK);
  if (prefer == BRIMFUL_PREFER_EXACT) {
    void *data;
    size_t size;
    STATUS(brimful_collector_finish_exact(collector, &data, &size), BRIMFUL_OK);
    CHECK(size == length && is_painted(data, 0, size));
    free(data);
  } else {
    brimful_buffer *buffer;
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, length));
    brimful_buffer_release(buffer);
  }
  info = info_of(collector);
  brimful_collector_free(collector);
  brimful_pool_release(pool);
  return info;
}

TEST(a_body_suspended_656_times_allocates_and_copies_what_an_unsuspended_one_does)
{
  for (int known = 0; known < 2; known++) {
    for (uint32_t prefer = BRIMFUL_PREFER_POOLED; prefer <= BRIMFUL_PREFER_EXACT; prefer++) {
      uint64_t stops, none;
      brimful_info stopped = cost_of(656 * 8000 + 500, 8000, known, prefer, &stops);
      brimful_info straight = cost_of(656 * 8000 + 500, 0, known, prefer, &none);
      SAME(stops, 656);
      SAME(none, 0);
      SAME(stopped.pendings, 656);
      SAME(stopped.allocations, straight.allocations);
      SAME(stopped.allocated_bytes, straight.allocated_bytes);
      SAME(stopped.copied, straight.copied);
      SAME(stopped.rents, straight.rents);
      SAME(stopped.peak_held, straight.peak_held);
    }
  }
}
