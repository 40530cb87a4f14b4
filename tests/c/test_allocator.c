/* The caller's own allocator, and memory that cannot be had. */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

/* Counts, remembers nothing: each piece carries its size in front, where deallocate finds it. */
struct own {
  uint64_t calls;       /* requests, of both kinds */
  uint64_t fails_at;    /* this request fails, from 1; 0: none */
  int fails_on;         /* and all after it */
  uint64_t out;         /* pieces that were not given back */
  uint64_t out_bytes;
  size_t smallest;      /* request */
  size_t largest;
  size_t shift;         /* added to each pointer, to break the promise of alignment */
};

#define FRONT 32

static int own_fails(struct own *own)
{
  own->calls++;
  return own->fails_at != 0 && (own->calls == own->fails_at || (own->fails_on && own->calls > own->fails_at));
}

static void *own_allocate(void *context, size_t size)
{
  struct own *own = context;
  char *memory;
  CHECK(size > 0);
  if (size < own->smallest || own->smallest == 0)
    own->smallest = size;
  if (size > own->largest)
    own->largest = size;
  if (own_fails(own))
    return NULL;
  memory = malloc(size + FRONT + own->shift);
  if (memory == NULL)
    return NULL;
  memcpy(memory, &size, sizeof size);
  own->out++;
  own->out_bytes += size;
  memset(memory + FRONT, 0xee, size);
  return memory + FRONT + own->shift;
}

static void own_deallocate(void *context, void *memory, size_t size)
{
  struct own *own = context;
  char *start = (char *)memory - FRONT - own->shift;
  size_t asked;
  memcpy(&asked, start, sizeof asked);
  SAME(size, asked);
  own->out--;
  own->out_bytes -= size;
  free(start);
}

static void *own_reallocate(void *context, void *memory, size_t old_size, size_t new_size)
{
  struct own *own = context;
  char *start = (char *)memory - FRONT - own->shift;
  size_t asked;
  memcpy(&asked, start, sizeof asked);
  SAME(old_size, asked);
  CHECK(new_size > 0);
  if (own_fails(own))
    return NULL;
  start = realloc(start, new_size + FRONT + own->shift);
  if (start == NULL)
    return NULL;
  memcpy(start, &new_size, sizeof new_size);
  own->out_bytes += new_size - old_size;
  return start + FRONT + own->shift;
}

static brimful_allocator allocator_of(struct own *own, int reallocates)
{
  brimful_allocator allocator = { sizeof allocator, own_allocate, reallocates ? own_reallocate : NULL, own_deallocate, own };
  return allocator;
}

static brimful_pool *pool_of(struct own *own)
{
  brimful_allocator allocator = allocator_of(own, 0);
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool = NULL;
  options.allocator = &allocator; /* copied: this one goes now */
  STATUS(brimful_pool_new(&options, &pool), BRIMFUL_OK);
  memset(&allocator, 0xee, sizeof allocator);
  return pool;
}

TEST(an_exact_result_comes_from_the_caller_s_allocator_and_is_exactly_its_size)
{
  static const uint64_t lengths[] = { 0, 1, 100, 5000, 1000000 };
  for (int known = 0; known < 2; known++) {
    for (int reallocates = 0; reallocates < 2; reallocates++) {
      for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
        struct own own = { 0 };
        brimful_allocator allocator = allocator_of(&own, reallocates);
        brimful_options options = BRIMFUL_OPTIONS_INIT;
        struct source source = SOURCE(lengths[i]);
        void *data;
        size_t length;
        options.allocator = &allocator;
        if (known)
          options.length = lengths[i];
        STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, NULL), BRIMFUL_OK);
        CHECK(length == lengths[i] && is_painted(data, 0, length));
        SAME(own.out, 1);
        SAME(own.out_bytes, lengths[i] == 0 ? 1 : lengths[i]);
        if (known)
          SAME(own.calls, 1);
        own_deallocate(&own, data, lengths[i] == 0 ? 1 : length);
        SAME(own.out, 0);
      }
    }
  }
}

TEST(to_exact_takes_its_memory_from_the_allocator_it_is_given)
{
  struct own own = { 0 };
  brimful_allocator allocator = allocator_of(&own, 1);
  struct source source = SOURCE(70000);
  brimful_buffer *buffer;
  void *data;
  size_t length;
  REQUIRE(brimful_collect(NULL, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
  STATUS(brimful_buffer_to_exact(buffer, &allocator, &data, &length), BRIMFUL_OK);
  CHECK(is_painted(data, 0, length));
  SAME(own.out_bytes, 70000);
  own_deallocate(&own, data, length);
  own.fails_at = own.calls + 1;
  STATUS(brimful_buffer_to_exact(buffer, &allocator, &data, &length), BRIMFUL_ERR_NO_MEMORY);
  CHECK(data == NULL && length == 0);
  brimful_buffer_release(buffer);
}

TEST(a_pool_s_blocks_come_from_its_allocator_aligned_to_64_and_all_go_back)
{
  struct own own = { 0 };
  brimful_pool *pool = pool_of(&own);
  for (int i = 0; i < 20; i++) {
    struct source source = SOURCE(UINT64_C(3) << i);
    brimful_buffer *buffer;
    brimful_slice slice;
    STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
    for (size_t piece = 0; brimful_buffer_segments(buffer, piece, &slice, 1) == 1; piece++)
      SAME((uintptr_t)slice.data % 64, 0);
    CHECK(buffer_is_painted(buffer, source.length));
    brimful_buffer_release(buffer);
  }
  CHECK(own.calls > 0 && own.out > 0);
  brimful_pool_release(pool);
  SAME(own.out, 0);
  SAME(own.out_bytes, 0);
}

TEST(an_allocator_is_not_asked_for_more_than_the_address_space_has)
{
  struct own own = { 0 };
  brimful_allocator allocator = allocator_of(&own, 1);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(1000);
  size_t length;
  void *data;
  options.allocator = &allocator;
  options.size_hint = UINT64_MAX - 1;
  options.max_prealloc = UINT64_MAX; /* so that the hint may be taken at its word */
  options.padding = 64;
  STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, NULL), BRIMFUL_OK);
  CHECK(length == 1000 && is_painted(data, 0, length));
  CHECK(own.calls > 0 && own.largest < 1 << 20);
  own_deallocate(&own, data, length + 64);
}

TEST(an_allocator_s_pool_lives_until_its_last_buffer)
{
  struct own own = { 0 };
  brimful_pool *pool = pool_of(&own);
  struct source source = SOURCE(500000);
  brimful_buffer *buffer;
  REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
  brimful_pool_release(pool);
  CHECK(own.out > 0 && buffer_is_painted(buffer, 500000));
  brimful_buffer_release(buffer);
  SAME(own.out, 0);
}

TEST(an_allocator_without_what_must_be_there_is_invalid)
{
  struct own own = { 0 };
  for (int which = 0; which < 4; which++) {
    brimful_allocator allocator = allocator_of(&own, 1);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT;
    struct source source = SOURCE(10);
    brimful_collector *collector;
    brimful_buffer *buffer;
    brimful_pool *pool;
    void *data;
    size_t length;
    if (which == 0)
      allocator.allocate = NULL;
    if (which == 1)
      allocator.deallocate = NULL;
    if (which == 2)
      allocator.struct_size = 8; /* ends before the functions */
    if (which == 3)
      allocator.struct_size = 0;
    options.allocator = pool_options.allocator = &allocator;
    STATUS(brimful_collector_new(NULL, &options, &collector), BRIMFUL_ERR_INVALID);
    STATUS(brimful_pool_new(&pool_options, &pool), BRIMFUL_ERR_INVALID);
    REQUIRE(brimful_collect(NULL, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
    STATUS(brimful_buffer_to_exact(buffer, &allocator, &data, &length), BRIMFUL_ERR_INVALID);
    brimful_buffer_release(buffer);
  }
  SAME(own.calls, 0);
}

TEST(an_allocator_that_gives_less_alignment_than_it_promised_is_refused_and_gets_its_memory_back)
{
  struct own own = { .shift = 8 };
  brimful_allocator allocator = allocator_of(&own, 1);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(1000);
  void *data;
  size_t length;
  options.allocator = &allocator;
  options.length = 1000;
  STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, NULL), BRIMFUL_ERR_NO_MEMORY);
  SAME(own.out, 0);
  CHECK(own.calls > 0);
}

/* Whether what came is painted, looked at without asking for memory. */
static int pieces_are_painted(const brimful_buffer *buffer, uint64_t length)
{
  brimful_slice slice;
  uint64_t offset = 0;
  for (size_t piece = 0; brimful_buffer_segments(buffer, piece, &slice, 1) == 1; piece++) {
    if (!is_painted(slice.data, offset, slice.length))
      return 0;
    offset += slice.length;
  }
  return offset == length;
}

/*
 * One body whose blocks and exact result come from `own`. A call that finds no memory is made again, `tries` times; if
 * that does not help, what came is taken. Nothing may be lost on either way.
 */
static void collect_in(struct own *own, uint64_t length, int known, int exact, int tries)
{
  brimful_allocator allocator = allocator_of(own, 1);
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_pool *pool = pool_of(own);
  struct source source = SOURCE(length);
  brimful_collector *collector;
  brimful_buffer *buffer;
  brimful_status status;
  void *data;
  size_t size;
  options.allocator = &allocator;
  options.prefer = exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  if (known)
    options.length = length;
  REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
  for (int i = 0; i <= tries; i++) {
    status = brimful_collector_read(collector, source_read, &source);
    if (status == BRIMFUL_OK)
      status = exact ? brimful_collector_finish_exact(collector, &data, &size)
                     : brimful_collector_finish(collector, &buffer);
    if (status != BRIMFUL_ERR_NO_MEMORY)
      break;
    SAME(info_of(collector).received, source.given);
    CHECK(info_of(collector).state == BRIMFUL_STATE_OPEN || info_of(collector).state == BRIMFUL_STATE_COMPLETE);
  }
  if (status == BRIMFUL_OK && exact) {
    CHECK(size == length && is_painted(data, 0, size));
    own_deallocate(own, data, size == 0 ? 1 : size);
  } else if (status == BRIMFUL_OK) {
    CHECK(pieces_are_painted(buffer, length));
    brimful_buffer_release(buffer);
  } else {
    STATUS(status, BRIMFUL_ERR_NO_MEMORY);
    CHECK(own->fails_on);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(pieces_are_painted(buffer, source.given));
    brimful_buffer_release(buffer);
  }
  brimful_collector_free(collector);
  brimful_pool_release(pool);
  SAME(own->out, 0);
  SAME(own->out_bytes, 0);
}

static void fail_each_in_turn(int fails_on)
{
  static const uint64_t lengths[] = { 0, 100, 20000, 1000000, 20000000 };
  for (int known = 0; known < 2; known++) {
    for (int exact = 0; exact < 2; exact++) {
      for (size_t i = 0; i < ARRAY_LENGTH(lengths) - (size_t)check_under_tool(); i++) {
        struct own own = { 0 };
        uint64_t last;
        collect_in(&own, lengths[i], known, exact, 0);
        last = own.calls;
        for (uint64_t nth = 1; nth <= last; nth++) {
          struct own failing = { .fails_at = nth, .fails_on = fails_on };
          collect_in(&failing, lengths[i], known, exact, 3);
        }
      }
    }
  }
}

TEST(when_any_one_request_of_an_allocator_fails_the_same_call_is_made_again_and_nothing_is_lost)
{
  fail_each_in_turn(0);
}

TEST(when_all_requests_of_an_allocator_fail_from_one_on_what_came_can_be_taken_and_all_goes_back)
{
  fail_each_in_turn(1);
}

TEST(a_one_shot_call_without_memory_hands_the_collector_out)
{
  struct own own = { .fails_at = 1 };
  brimful_pool *pool = pool_of(&own);
  struct source source = SOURCE(50000);
  brimful_collector *rest;
  brimful_buffer *buffer;
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, &rest), BRIMFUL_ERR_NO_MEMORY);
  REQUIRE(rest != NULL);
  SAME(source.calls, 0); /* memory comes before the source is asked */
  STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_OK);
  STATUS(brimful_collector_finish(rest, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 50000));
  brimful_buffer_release(buffer);
  brimful_collector_free(rest);
  brimful_pool_release(pool);
}
