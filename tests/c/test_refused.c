/*
 * Every request for memory refused in turn, through the library as it is installed: once, and that one and all after it
 * until the call has been made again. Each call that can need memory is made in both kinds of the pool's own memory and in
 * memory of the caller's; it says NO_MEMORY, has changed nothing, and made again it works (E30, E31). In the end nothing is
 * left of any of it, and the pool's numbers are what they were (E47).
 */
#include "check.h"
#include "interpose.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int forever; /* whether memory stays refused until a call has been refused twice */
static int refused; /* calls that were, in this run */

/* A call that may be refused, and is then made again. */
#define AGAIN(call)                                                                                                    \
  do {                                                                                                                 \
    brimful_status status_ = (call);                                                                                   \
    if (status_ == BRIMFUL_ERR_NO_MEMORY) {                                                                            \
      refused++;                                                                                                       \
      if (forever)                                                                                                     \
        STATUS((call), BRIMFUL_ERR_NO_MEMORY);                                                                         \
      memory_is_back();                                                                                                \
      status_ = (call);                                                                                                \
    }                                                                                                                  \
    check_status(__FILE__, __LINE__, #call, status_, BRIMFUL_OK);                                                      \
  } while (0)

static void memory_is_back(void)
{
  if (forever)
    interpose_fail(0, 0);
}

static void *own_allocate(void *context, size_t size)
{
  (void)context;
  return malloc(size);
}

static void *own_reallocate(void *context, void *memory, size_t old_size, size_t new_size)
{
  (void)context;
  (void)old_size;
  return realloc(memory, new_size);
}

static void own_deallocate(void *context, void *memory, size_t size)
{
  (void)context;
  (void)size;
  free(memory);
}

static const brimful_allocator own = { sizeof own, own_allocate, own_reallocate, own_deallocate, NULL };
static const brimful_allocator unable_to_grow = { sizeof own, own_allocate, NULL, own_deallocate, NULL };

static int pieces_are_painted(const brimful_buffer *buffer, uint64_t offset, uint64_t length)
{
  brimful_slice slice;
  uint64_t seen = 0;
  for (size_t piece = 0; brimful_buffer_segments(buffer, piece, &slice, 1) == 1; piece++) {
    if (!is_painted(slice.data, offset + seen, slice.length))
      return 0;
    seen += slice.length;
  }
  return seen == length;
}

static unsigned char body[300000];

static void pushes_and_windows(brimful_pool *pool)
{
  brimful_collector *collector = NULL;
  brimful_buffer *partial = NULL, *buffer = NULL, *slice = NULL;
  const void *view;
  void *data = NULL, *window;
  size_t length, room, at = 3;
  AGAIN(brimful_collector_new(pool, NULL, &collector));
  AGAIN(brimful_collector_write(collector, body, 3, NULL));
  while (at < sizeof body) {
    AGAIN(brimful_collector_reserve(collector, 50000, &window, &room));
    if (room > sizeof body - at)
      room = sizeof body - at;
    paint(window, at, room / 2);
    AGAIN(brimful_collector_commit(collector, room / 2));
    AGAIN(brimful_collector_write(collector, body + at + room / 2, room - room / 2, &length));
    at += room;
  }
  SAME(info_of(collector).received, sizeof body);
  AGAIN(brimful_collector_end(collector));
  AGAIN(brimful_collector_finish(collector, &buffer));
  CHECK(pieces_are_painted(buffer, 0, sizeof body));
  AGAIN(brimful_buffer_data(buffer, &view, &length));
  CHECK(is_painted(view, 0, length));
  AGAIN(brimful_buffer_slice(buffer, 1000, 100000, &slice));
  AGAIN(brimful_buffer_detach(slice));
  CHECK(pieces_are_painted(slice, 1000, 100000));
  AGAIN(brimful_buffer_to_exact(slice, NULL, &data, &length));
  CHECK(length == 100000 && is_painted(data, 1000, length));
  free(data);
  brimful_buffer_release(slice);
  AGAIN(brimful_collector_reset(collector, NULL));
  AGAIN(brimful_collector_write(collector, body, 20000, NULL));
  AGAIN(brimful_collector_take_partial(collector, &partial));
  CHECK(pieces_are_painted(partial, 0, 20000));
  brimful_buffer_release(partial);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

/* One body by every source, of known and of unknown length, with each result and what it is then asked for. */
static void pulls(brimful_pool *pool, const brimful_allocator *allocator, uint64_t known, uint32_t prefer)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(sizeof body);
  brimful_collector *collector = NULL;
  brimful_buffer *buffer = NULL;
  void *data = NULL;
  size_t length;
  options.length = known;
  options.prefer = prefer;
  options.padding = 64;
  options.allocator = allocator;
  source.each = 7000;
  AGAIN(brimful_cancel_new(&options.cancel));
  AGAIN(brimful_collector_new(pool, &options, &collector));
  AGAIN(brimful_collector_read(collector, source_read, &source));
  SAME(info_of(collector).received, source.given);
  if (prefer == BRIMFUL_PREFER_EXACT) {
    AGAIN(brimful_collector_finish_exact(collector, &data, &length));
    CHECK(length == sizeof body && is_painted(data, 0, length));
    free(data);
  } else {
    AGAIN(brimful_collector_finish(collector, &buffer));
    CHECK(pieces_are_painted(buffer, 0, sizeof body));
    brimful_buffer_release(buffer);
  }
  brimful_collector_free(collector);
  brimful_cancel_release(options.cancel);
}

/* A pipe, whose bytes wait for as long as memory does. */
static void descriptors(brimful_pool *pool)
{
  brimful_collector *collector = NULL;
  brimful_buffer *buffer = NULL;
  int ends[2];
  REQUIRE(pipe(ends) == 0 && write(ends[1], body, 40000) == 40000);
  close(ends[1]);
  AGAIN(brimful_collector_new(pool, NULL, &collector));
  AGAIN(brimful_collector_read_fd(collector, ends[0]));
  AGAIN(brimful_collector_finish(collector, &buffer));
  CHECK(pieces_are_painted(buffer, 0, 40000));
  close(ends[0]);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

/* What a one-shot call left is gone on with; where there was no memory even for that, what came is gone, as brimful.h says. */
static void one_shots(brimful_pool *pool)
{
  static unsigned char target[sizeof body];
  for (int which = 0; which < 3; which++) {
    struct source source = SOURCE(sizeof body);
    brimful_collector *rest = NULL;
    brimful_buffer *buffer = NULL;
    brimful_status status = BRIMFUL_ERR_NO_MEMORY;
    void *data = NULL;
    size_t length = 0;
    for (int tries = 0; rest == NULL && status == BRIMFUL_ERR_NO_MEMORY && tries < 3; tries++) {
      source.given = 0;
      status = which == 0   ? brimful_collect(pool, NULL, source_read, &source, &buffer, &rest)
               : which == 1 ? brimful_collect_exact(pool, NULL, source_read, &source, &data, &length, &rest)
                            : brimful_collect_into(NULL, source_read, &source, target, sizeof target, &length, &rest);
      refused += status == BRIMFUL_ERR_NO_MEMORY;
      if (tries == 1)
        memory_is_back();
    }
    if (rest != NULL) {
      STATUS(status, BRIMFUL_ERR_NO_MEMORY);
      CHECK(buffer == NULL && data == NULL);
      AGAIN(brimful_collector_read(rest, source_read, &source));
      if (which == 1)
        AGAIN(brimful_collector_finish_exact(rest, &data, &length));
      else
        AGAIN(brimful_collector_finish(rest, &buffer));
      brimful_collector_free(rest);
    } else {
      STATUS(status, BRIMFUL_OK);
    }
    if (buffer != NULL)
      CHECK(pieces_are_painted(buffer, 0, sizeof body));
    else
      CHECK(length == sizeof body && is_painted(which == 1 ? data : target, 0, length));
    brimful_buffer_release(buffer);
    free(data);
  }
}

static void into_the_callers_memory(brimful_pool *pool)
{
  static unsigned char target[50000];
  brimful_collector *collector = NULL;
  brimful_buffer *buffer = NULL;
  void *data = NULL;
  size_t length;
  (void)pool;
  for (int exact = 0; exact < 2; exact++) {
    AGAIN(brimful_collector_new_into(NULL, target, sizeof target, &collector));
    AGAIN(brimful_collector_write(collector, body, sizeof target, NULL));
    AGAIN(brimful_collector_end(collector));
    if (exact) {
      AGAIN(brimful_collector_finish_exact(collector, &data, &length));
      CHECK(length == sizeof target && is_painted(data, 0, length));
    } else {
      AGAIN(brimful_collector_finish(collector, &buffer));
      CHECK(pieces_are_painted(buffer, 0, sizeof target));
    }
    brimful_buffer_release(buffer);
    free(data);
    buffer = NULL;
    brimful_collector_free(collector);
  }
}

static void texts(brimful_pool *pool)
{
  static const char *const names[] = { "utf-8", "windows-1252", "utf-16le", NULL };
  struct source source = SOURCE(20000);
  brimful_collector *collector = NULL;
  brimful_buffer *buffer = NULL;
  uint64_t fault;
  char *text;
  size_t length;
  AGAIN(brimful_collector_new(pool, NULL, &collector));
  AGAIN(brimful_collector_read(collector, source_read, &source));
  AGAIN(brimful_collector_finish(collector, &buffer));
  for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
    for (int by_own = 0; by_own < 2; by_own++) {
      text = NULL;
      AGAIN(brimful_buffer_decode(buffer, names[i], BRIMFUL_DECODE_REPLACE, by_own ? &own : NULL, &text, &length, &fault));
      CHECK(text != NULL && length > 0);
      free(text);
    }
  }
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

static void queues(brimful_pool *pool)
{
  brimful_queue *queue = NULL;
  brimful_collector *collector = NULL;
  brimful_buffer *buffer = NULL;
  brimful_slice slices[64];
  unsigned char bytes[1000];
  void *window;
  size_t count, room;
  AGAIN(brimful_queue_new(pool, UINT64_C(1) << 20, &queue));
  AGAIN(brimful_queue_write(queue, body, 100000, &count));
  SAME(count, 100000);
  AGAIN(brimful_queue_reserve(queue, 60000, &window, &room));
  room = room < 1000 ? room : 1000;
  paint(window, 100000, room);
  AGAIN(brimful_queue_commit(queue, room));
  AGAIN(brimful_queue_read(queue, bytes, sizeof bytes, &count));
  CHECK(is_painted(bytes, 0, count) && count == sizeof bytes);
  AGAIN(brimful_queue_peek(queue, slices, ARRAY_LENGTH(slices), &count));
  CHECK(count > 0 && is_painted(slices[0].data, 1000, slices[0].length));
  AGAIN(brimful_queue_skip(queue, 500));
  AGAIN(brimful_queue_end(queue, BRIMFUL_OK));
  AGAIN(brimful_collector_new(pool, NULL, &collector));
  /* What moved before memory was refused has moved; the call says so, and the next one goes on. */
  while (brimful_queue_length(queue) > 0)
    AGAIN(brimful_queue_move(queue, collector, &count));
  AGAIN(brimful_collector_end(collector));
  AGAIN(brimful_collector_finish(collector, &buffer));
  CHECK(pieces_are_painted(buffer, 1500, 100000 + room - 1500));
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
  brimful_queue_free(queue);
}

static void everything(uint32_t flags, const brimful_allocator *allocator)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool_statistics numbers = { .struct_size = sizeof numbers };
  brimful_pool *pool = NULL;
  options.flags = flags;
  options.allocator = allocator;
  AGAIN(brimful_pool_new(&options, &pool));
  pushes_and_windows(pool);
  for (uint32_t prefer = BRIMFUL_PREFER_POOLED; prefer <= BRIMFUL_PREFER_EXACT; prefer++) {
    pulls(pool, NULL, BRIMFUL_UNKNOWN, prefer);
    pulls(pool, allocator, sizeof body, prefer);
    pulls(pool, allocator == NULL ? &unable_to_grow : allocator, BRIMFUL_UNKNOWN, prefer);
    brimful_pool_trim(pool, 0); /* the next one finds nothing warm */
  }
  descriptors(pool);
  one_shots(pool);
  into_the_callers_memory(pool);
  texts(pool);
  brimful_pool_trim(pool, 0);
  queues(pool);
  STATUS(brimful_pool_stats(pool, &numbers), BRIMFUL_OK);
  SAME(numbers.outstanding, 0);
  SAME(numbers.outstanding_bytes, 0);
  SAME(numbers.allocated - numbers.freed, numbers.retained);
  SAME(numbers.allocated_bytes - numbers.freed_bytes, numbers.retained_bytes);
  SAME(brimful_pool_trim(pool, 0), numbers.retained_bytes);
  STATUS(brimful_pool_stats(pool, &numbers), BRIMFUL_OK);
  SAME(numbers.allocated, numbers.freed);
  SAME(numbers.allocated_bytes, numbers.freed_bytes);
  SAME(numbers.retained, 0);
  brimful_pool_release(pool);
}

/* Says how many requests were made. */
static uint64_t refuse(uint64_t nth, uint32_t flags, const brimful_allocator *allocator)
{
  uint64_t made;
  refused = 0;
  interpose_fail(nth, forever);
  everything(flags, allocator);
  made = interpose_fail(0, 0);
  brimful_pool_trim(NULL, 0); /* copies of what lay in the caller's memory are of the default pool */
  return made;
}

static void refuse_each_in_turn(uint32_t flags, const brimful_allocator *allocator)
{
  uint64_t last, refusals;
  if (interpose_fail == NULL)
    SKIP("needs the interposer");
  paint(body, 0, sizeof body);
  forever = 0;
  last = refuse(0, flags, allocator);
  CHECK(last > 100);
  for (; forever < 2; forever++) {
    refusals = 0;
    for (uint64_t nth = 1; nth <= last; nth++) {
      refuse(nth, flags, allocator); /* after this the default pool's own lists are as long as they get */
      int64_t live = interpose_live();
      refuse(nth, flags, allocator);
      SAME(interpose_live(), live);
      refusals += refused > 0;
    }
    CHECK(refusals > last / 3); /* the others were for guesses, which the library does without */
  }
}

TEST(each_request_for_memory_is_refused_in_turn_and_every_call_made_again_works_in_growing_ranges)
{
  refuse_each_in_turn(0, NULL);
}

TEST(each_request_for_memory_is_refused_in_turn_and_every_call_made_again_works_in_a_list_of_blocks)
{
  refuse_each_in_turn(BRIMFUL_POOL_LIST, NULL);
}

TEST(each_request_for_memory_is_refused_in_turn_and_every_call_made_again_works_in_the_callers_own_memory)
{
  refuse_each_in_turn(0, &own);
}
