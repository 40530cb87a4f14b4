/*
 * Bytes of one body that another must never see: with scrubbing every window shows zeros only, and no result, partial,
 * segment or copy shows a byte that its own source did not deliver, on any way out (E49; H11, H22, H37).
 */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

#define SECRET 0xAA

static int has_secret(const void *data, size_t length)
{
  return length > 0 && memchr(data, SECRET, length) != NULL;
}

/* A body of nothing but secrets, which spoils all the memory that its source is shown, and leaves it in the pool. */
struct secrets {
  uint64_t left;
};

static brimful_status gives_secrets(void *context, void *window, size_t room, size_t *filled)
{
  struct secrets *secrets = context;
  memset(window, SECRET, room); /* all of the window, whatever is claimed of it */
  *filled = secrets->left < room ? (size_t)secrets->left : room;
  secrets->left -= *filled;
  return BRIMFUL_OK;
}

static void leave_secrets(brimful_pool *pool)
{
  static const uint64_t sizes[] = { 10, 5000, 16384, 100000, 3000000 };
  brimful_buffer *buffers[ARRAY_LENGTH(sizes)];
  for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
    struct secrets secrets = { sizes[i] };
    STATUS(brimful_collect(pool, NULL, gives_secrets, &secrets, &buffers[i], NULL), BRIMFUL_OK);
  }
  for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
    brimful_buffer_release(buffers[i]);
}

/* What the next body's source does with what it is shown. */
struct looking {
  uint64_t length, given;
  size_t each;
  int found;           /* a byte of a window that was not zero */
  int claims_unwritten;
  brimful_status then; /* after the last byte */
  size_t over;
};

static brimful_status looks(void *context, void *window, size_t room, size_t *filled)
{
  struct looking *looking = context;
  const unsigned char *bytes = window;
  size_t count = looking->length - looking->given < room ? (size_t)(looking->length - looking->given) : room;
  for (size_t i = 0; i < room; i++)
    looking->found |= bytes[i] != 0;
  if (looking->each > 0 && count > looking->each)
    count = looking->each;
  if (count == 0) {
    *filled = looking->over > 0 ? room + looking->over : 0;
    return looking->then;
  }
  if (!looking->claims_unwritten)
    memset(window, 0x11, count);
  looking->given += count;
  *filled = count;
  return BRIMFUL_OK;
}

static brimful_pool *pool_of_kind(int kind)
{
  uint32_t scrubs = kind / 2 % 2 == 0 ? BRIMFUL_POOL_SCRUB : 0;
  return new_pool((kind % 2 == 0 ? 0 : BRIMFUL_POOL_LIST) | scrubs);
}

static brimful_options options_of_kind(int kind)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.flags = kind / 2 % 2 == 0 ? 0 : BRIMFUL_SCRUB; /* by the pool or by the body */
  return options;
}

TEST(after_a_body_of_0xAA_the_next_callback_sees_only_zeros)
{
  static const uint64_t lengths[] = { 1, 100, 4095, 4096, 16384, 16385, 70000, 2000000 };
  for (int kind = 0; kind < 4; kind += 1 + 2 * check_under_tool()) {
    for (size_t i = 0; i < (ARRAY_LENGTH(lengths) - (size_t)check_under_tool()) * 6; i++) {
      brimful_options options = options_of_kind(kind);
      brimful_pool *pool = pool_of_kind(kind);
      struct looking looking = { .length = lengths[i / 6], .each = i % 2 == 0 ? 0 : 1 + (size_t)lengths[i / 6] / 50 };
      brimful_buffer *buffer = NULL;
      void *data = NULL;
      size_t length;
      leave_secrets(pool);
      if (i / 2 % 3 == 1)
        options.length = looking.length;
      if (i / 2 % 3 == 2)
        options.size_hint = looking.length / 2;
      if (i % 4 < 2)
        STATUS(brimful_collect(pool, &options, looks, &looking, &buffer, NULL), BRIMFUL_OK);
      else
        STATUS(brimful_collect_exact(pool, &options, looks, &looking, &data, &length, NULL), BRIMFUL_OK);
      CHECK(!looking.found);
      brimful_buffer_release(buffer);
      free(data);
      brimful_pool_release(pool);
    }
  }
}

TEST(a_window_of_a_scrubbing_collector_shows_only_zeros_when_it_is_reserved)
{
  for (int kind = 0; kind < 4; kind++) {
    brimful_options options = options_of_kind(kind);
    brimful_pool *pool = pool_of_kind(kind);
    brimful_collector *collector;
    leave_secrets(pool);
    REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
    for (int i = 0; i < 60; i++) {
      void *window;
      size_t room;
      STATUS(brimful_collector_reserve(collector, 20000, &window, &room), BRIMFUL_OK);
      for (size_t at = 0; at < room; at++)
        REQUIRE(((unsigned char *)window)[at] == 0);
      memset(window, SECRET, room < 3000 ? room : 3000);
      STATUS(brimful_collector_commit(collector, room < 3000 ? room : 3000), BRIMFUL_OK);
    }
    brimful_collector_free(collector);
    brimful_pool_release(pool);
  }
}

TEST(a_callback_that_claims_what_it_did_not_write_gets_zeros_there)
{
  for (int kind = 0; kind < 4; kind++) {
    brimful_options options = options_of_kind(kind);
    brimful_pool *pool = pool_of_kind(kind);
    struct looking looking = { .length = 500000, .claims_unwritten = 1 };
    brimful_buffer *buffer;
    const unsigned char *bytes;
    const void *data;
    size_t length;
    leave_secrets(pool);
    STATUS(brimful_collect(pool, &options, looks, &looking, &buffer, NULL), BRIMFUL_OK);
    STATUS(brimful_buffer_data(buffer, &data, &length), BRIMFUL_OK);
    bytes = data;
    for (size_t i = 0; i < length; i++)
      REQUIRE(bytes[i] == 0);
    brimful_buffer_release(buffer);
    brimful_pool_release(pool);
  }
}

/* All that a program can see of a body, before it is taken and after. */
static int anything_shows_a_secret(brimful_collector *collector)
{
  static unsigned char copy[3100000];
  brimful_slice slices[64];
  brimful_buffer *partial, *slice;
  const void *data;
  void *exact;
  size_t count = brimful_collector_segments(collector, 0, slices, 64), length;
  int found = 0;
  for (size_t i = 0; i < count; i++)
    found |= has_secret(slices[i].data, slices[i].length);
  length = brimful_collector_copy(collector, 0, copy, sizeof copy);
  found |= has_secret(copy, length);
  STATUS(brimful_collector_take_partial(collector, &partial), BRIMFUL_OK);
  count = brimful_buffer_segments(partial, 0, slices, 64);
  for (size_t i = 0; i < count; i++)
    found |= has_secret(slices[i].data, slices[i].length);
  length = brimful_buffer_copy(partial, 0, copy, sizeof copy);
  found |= has_secret(copy, length);
  STATUS(brimful_buffer_data(partial, &data, &length), BRIMFUL_OK);
  found |= has_secret(data, length);
  STATUS(brimful_buffer_to_exact(partial, NULL, &exact, &length), BRIMFUL_OK);
  found |= has_secret(exact, length);
  free(exact);
  STATUS(brimful_buffer_slice(partial, length / 2, length - length / 2, &slice), BRIMFUL_OK);
  STATUS(brimful_buffer_detach(slice), BRIMFUL_OK);
  STATUS(brimful_buffer_data(slice, &data, &length), BRIMFUL_OK);
  found |= has_secret(data, length);
  brimful_buffer_release(slice);
  brimful_buffer_release(partial);
  return found;
}

TEST(no_way_out_of_a_body_shows_a_byte_of_another_one)
{
  enum { LIMIT, SHORT, LONG, SOURCE_ERROR, CONTRACT, CANCELLED, PENDING, WAYS };
  static const brimful_status expected[] = { BRIMFUL_ERR_LIMIT,    BRIMFUL_ERR_SHORT,     BRIMFUL_ERR_LONG, BRIMFUL_ERR_SOURCE,
                                             BRIMFUL_ERR_CONTRACT, BRIMFUL_ERR_CANCELLED, BRIMFUL_PENDING };
  static const uint64_t lengths[] = { 1, 4096, 20000, 600000 };
  for (int kind = 0; kind < 6; kind++) { /* 4 and 5: without scrubbing, whose results are as clean */
    for (int way = 0; way < WAYS; way++) {
      for (size_t i = 0; i < ARRAY_LENGTH(lengths) - (size_t)check_under_tool(); i++) {
        for (uint32_t prefer = BRIMFUL_PREFER_POOLED; prefer <= BRIMFUL_PREFER_EXACT; prefer++) {
          brimful_options options = options_of_kind(kind < 4 ? kind : 0);
          brimful_pool *pool = kind < 4 ? pool_of_kind(kind) : new_pool(kind % 2 == 0 ? 0 : BRIMFUL_POOL_LIST);
          struct looking looking = { .length = lengths[i], .each = (size_t)lengths[i] / 3 + 1 };
          brimful_collector *collector;
          leave_secrets(pool);
          options.prefer = prefer;
          if (way == LIMIT)
            options.limit = lengths[i] - 1;
          if (way == SHORT)
            options.length = lengths[i] + 1;
          if (way == LONG) {
            options.length = lengths[i] - 1;
            options.end = BRIMFUL_END_EOF;
          }
          if (way == SOURCE_ERROR)
            looking.then = -5;
          if (way == CONTRACT)
            looking.over = 1;
          if (way == PENDING)
            looking.then = BRIMFUL_PENDING;
          if (way == CANCELLED)
            REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
          REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
          if (way == CANCELLED) {
            STATUS(brimful_collector_write(collector, "\x11\x11\x11", 3, NULL), BRIMFUL_OK);
            brimful_cancel_trigger(options.cancel);
          }
          STATUS(brimful_collector_read(collector, looks, &looking), expected[way]);
          CHECK(kind >= 4 || !looking.found);
          CHECK(!anything_shows_a_secret(collector));
          brimful_collector_free(collector);
          brimful_cancel_release(options.cancel);
          brimful_pool_release(pool);
        }
      }
    }
    if (check_under_tool())
      kind += 2;
  }
}
