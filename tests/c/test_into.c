/* Bodies in the caller's own memory: what lies there on each outcome, and what stays untouched around it (E35, H35). */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY 5000
#define GUARD 64
#define UNTOUCHED 0xEE

/* A target between two guards. */
struct place {
  unsigned char memory[GUARD + CAPACITY + GUARD];
};

static unsigned char *target_of(struct place *place)
{
  memset(place->memory, UNTOUCHED, sizeof place->memory);
  return place->memory + GUARD;
}

/* Whether exactly `length` painted bytes lie in the target and nothing else was written. */
static int holds(const struct place *place, size_t length)
{
  size_t i;
  for (i = 0; i < GUARD; i++) {
    if (place->memory[i] != UNTOUCHED)
      return 0;
  }
  for (i = GUARD + length; i < sizeof place->memory; i++) {
    if (place->memory[i] != UNTOUCHED)
      return 0;
  }
  return is_painted(place->memory + GUARD, 0, length);
}

TEST(a_body_that_fits_lies_in_the_target_and_the_bytes_behind_it_stay_as_they_were)
{
  static const size_t lengths[] = { 0, 1, 4095, 4096, CAPACITY - 1, CAPACITY };
  for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
    for (int known = 0; known < 3; known++) {
      brimful_options options = BRIMFUL_OPTIONS_INIT;
      brimful_info info = { .struct_size = sizeof info };
      struct source source = SOURCE(lengths[i]);
      struct place place;
      brimful_collector *rest = (brimful_collector *)1;
      size_t length = 1;
      if (known > 0)
        options.length = lengths[i];
      if (known == 2)
        options.end = BRIMFUL_END_EOF;
      options.info = &info;
      options.flags = i % 2 == 0 ? BRIMFUL_SCRUB : 0;
      STATUS(brimful_collect_into(&options, source_read, &source, target_of(&place), CAPACITY, &length, &rest), BRIMFUL_OK);
      CHECK(holds(&place, lengths[i]) && rest == NULL);
      SAME(length, lengths[i]);
      SAME(info.length, lengths[i]);
      SAME(info.copied, 0);
      SAME(info.allocations, 0); /* the byte that shows the end goes nowhere that counts */
    }
  }
}

TEST(more_than_fits_is_a_limit_or_a_cut_and_the_byte_that_shows_it_never_lies_in_the_target)
{
  for (size_t capacity = 0; capacity <= CAPACITY; capacity += 1250) {
    for (uint32_t truncate = 0; truncate <= BRIMFUL_TRUNCATE; truncate++) {
      brimful_options options = BRIMFUL_OPTIONS_INIT;
      brimful_info info = { .struct_size = sizeof info };
      struct source source = SOURCE(CAPACITY + 100);
      struct place place;
      brimful_collector *rest;
      brimful_buffer *partial;
      size_t length;
      options.flags = truncate;
      options.info = &info;
      STATUS(brimful_collect_into(&options, source_read, &source, target_of(&place), capacity, &length, &rest),
             truncate ? BRIMFUL_OK : BRIMFUL_ERR_LIMIT);
      SAME(length, capacity);
      SAME(info.truncated, truncate);
      SAME(source.given, capacity + 1);
      CHECK(holds(&place, capacity));
      if (!truncate) {
        REQUIRE(rest != NULL);
        STATUS(brimful_collector_take_partial(rest, &partial), BRIMFUL_OK);
        CHECK(buffer_is_painted(partial, capacity));
        brimful_buffer_release(partial);
      }
      brimful_collector_free(rest);
    }
  }
}

TEST(a_length_or_a_limit_that_the_target_has_no_room_for_is_refused_or_holds_before_the_target_is_full)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(CAPACITY);
  struct place place;
  size_t length = 1;
  options.length = CAPACITY + 1;
  STATUS(brimful_collect_into(&options, source_read, &source, target_of(&place), CAPACITY, &length, NULL),
         BRIMFUL_ERR_LIMIT);
  CHECK(length == 0 && source.calls == 0 && holds(&place, 0));
  options.length = BRIMFUL_UNKNOWN;
  options.limit = 100;
  STATUS(brimful_collect_into(&options, source_read, &source, target_of(&place), CAPACITY, &length, NULL),
         BRIMFUL_ERR_LIMIT);
  CHECK(length == 100 && holds(&place, 100));
}

/* Answers 700 bytes, then as it is told. */
static brimful_status ends_badly(void *context, void *window, size_t room, size_t *filled)
{
  brimful_status *status = context;
  if (*status == BRIMFUL_ERR_CONTRACT) {
    *status = BRIMFUL_OK;
    *filled = room + 1;
    return BRIMFUL_OK;
  }
  paint(window, 0, 700);
  *filled = 700;
  return *status;
}

TEST(what_landed_is_told_on_every_outcome_also_where_there_is_no_rest)
{
  static const brimful_status answers[] = { BRIMFUL_PENDING, -5, BRIMFUL_ERR_CONTRACT };
  static const brimful_status with_rest[] = { BRIMFUL_PENDING, BRIMFUL_ERR_SOURCE, BRIMFUL_ERR_CONTRACT };
  static const brimful_status without[] = { BRIMFUL_ERR_STATE, BRIMFUL_ERR_SOURCE, BRIMFUL_ERR_CONTRACT };
  for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
    for (int has_rest = 0; has_rest < 2; has_rest++) {
      brimful_status answer = answers[i];
      brimful_collector *rest = NULL;
      struct place place;
      size_t length = 1, expected = answer == BRIMFUL_ERR_CONTRACT ? 0 : 700;
      STATUS(brimful_collect_into(NULL, ends_badly, &answer, target_of(&place), CAPACITY, &length, has_rest ? &rest : NULL),
             has_rest ? with_rest[i] : without[i]);
      SAME(length, expected);
      CHECK(holds(&place, expected) && (rest != NULL) == has_rest);
      brimful_collector_free(rest);
    }
  }
}

TEST(a_suspended_body_in_the_target_goes_on_where_it_stopped_in_every_way_of_feeding_it)
{
  struct source source = SOURCE(4000);
  struct place place;
  brimful_collector *collector;
  brimful_slice slice;
  unsigned char bytes[500];
  size_t length, room;
  void *window;
  source.pend_every = 1000;
  STATUS(brimful_collect_into(NULL, source_read, &source, target_of(&place), CAPACITY, &length, &collector),
         BRIMFUL_PENDING);
  CHECK(length == 1000 && holds(&place, 1000));
  paint(bytes, 1000, sizeof bytes);
  STATUS(brimful_collector_write(collector, bytes, sizeof bytes, NULL), BRIMFUL_OK);
  CHECK(holds(&place, 1500));
  STATUS(brimful_collector_reserve(collector, 0, &window, &room), BRIMFUL_OK);
  CHECK(window == place.memory + GUARD + 1500 && room == CAPACITY - 1500);
  paint(window, 1500, 500);
  STATUS(brimful_collector_commit(collector, 500), BRIMFUL_OK);
  SAME(brimful_collector_segments(collector, 0, &slice, 1), 1);
  CHECK(slice.data == place.memory + GUARD && slice.length == 2000);
  source.given = 2000;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  CHECK(holds(&place, 4000) && info_of(collector).length == 4000 && info_of(collector).copied == 0);
  brimful_collector_free(collector);
  CHECK(holds(&place, 4000));
}

TEST(a_body_in_the_target_can_be_had_as_a_copy_and_the_next_one_begins_at_its_start_again)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct place place;
  brimful_collector *collector;
  brimful_buffer *buffer;
  void *data;
  size_t length;
  REQUIRE(brimful_collector_new_into(&options, target_of(&place), CAPACITY, &collector) == BRIMFUL_OK);
  struct source first = SOURCE(3000), second = SOURCE(3001);
  STATUS(brimful_collector_read(collector, source_read, &first), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  options.prefer = BRIMFUL_PREFER_EXACT;
  options.length = 3001;
  options.max_prealloc = 10;
  STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, source_read, &second), BRIMFUL_OK);
  CHECK(holds(&place, 3001));
  STATUS(brimful_collector_finish_exact(collector, &data, &length), BRIMFUL_OK);
  CHECK(length == 3001 && is_painted(data, 0, 3001));
  brimful_collector_free(collector);
  memset(place.memory, 0, sizeof place.memory);
  CHECK(buffer_is_painted(buffer, 3000) && is_painted(data, 0, 3001)); /* copies, so they do not care */
  brimful_buffer_release(buffer);
  free(data);
}

TEST(a_collector_over_a_target_refuses_what_cannot_be_and_touches_nothing)
{
  struct source source = SOURCE(10);
  struct place place;
  unsigned char *target = target_of(&place);
  brimful_collector *collector = (brimful_collector *)1;
  size_t length = 1;
  STATUS(brimful_collector_new_into(NULL, NULL, 1, &collector), BRIMFUL_ERR_INVALID);
  CHECK(collector == NULL);
  STATUS(brimful_collector_new_into(NULL, target, SIZE_MAX, &collector), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_new_into(NULL, target, (size_t)PTRDIFF_MAX + 1, &collector), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collector_new_into(NULL, target, 1, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collect_into(NULL, source_read, &source, NULL, 1, &length, &collector), BRIMFUL_ERR_INVALID);
  CHECK(length == 0 && collector == NULL);
  STATUS(brimful_collect_into(NULL, source_read, &source, target, SIZE_MAX, &length, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collect_into(NULL, source_read, &source, target, 1, NULL, NULL), BRIMFUL_ERR_INVALID);
  STATUS(brimful_collect_into(NULL, NULL, NULL, target, 1, &length, NULL), BRIMFUL_ERR_INVALID);
  CHECK(source.calls == 0 && holds(&place, 0));
  STATUS(brimful_collect_into(NULL, source_read, &source, NULL, 0, &length, NULL), BRIMFUL_ERR_LIMIT);
  SAME(length, 0);
  struct source empty = SOURCE(0);
  STATUS(brimful_collect_into(NULL, source_read, &empty, NULL, 0, &length, NULL), BRIMFUL_OK);
}

TEST(a_body_s_tail_and_the_next_one_s_head_in_one_chunk_go_to_their_own_targets)
{
  /* H3: thousands of values in one stream, none of whose bytes may show up in another */
  static unsigned char stream[4096];
  unsigned values = check_under_tool() ? 200 : 20000, seed = 7;
  unsigned char target[64];
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector = NULL;
  size_t have = 0, at = 0;
  for (unsigned value = 0; value < values; value++) {
    seed = seed * 1103515245u + 12345u;
    options.length = (seed >> 8) % 61;
    memset(target, UNTOUCHED, sizeof target);
    REQUIRE(brimful_collector_new_into(&options, target, sizeof target, &collector) == BRIMFUL_OK);
    for (uint64_t of_value = 0; brimful_collector_is_complete(collector) == 0;) {
      size_t taken;
      if (at == have) { /* a chunk: the rest of this value, and 0xAA up to the end, which are the next one's head */
        have = 1 + (seed >> 16) % 100;
        memset(stream, 0xAA, have);
        paint(stream, of_value, options.length - of_value < have ? (size_t)(options.length - of_value) : have);
        at = 0;
      }
      if (of_value == 0) /* what is left of the last chunk is this one's head now */
        paint(stream + at, 0, options.length < have - at ? (size_t)options.length : have - at);
      STATUS(brimful_collector_write(collector, stream + at, have - at, &taken), BRIMFUL_OK);
      at += taken;
      of_value += taken;
    }
    brimful_collector_free(collector);
    CHECK(is_painted(target, 0, (size_t)options.length));
    for (size_t i = (size_t)options.length; i < sizeof target; i++)
      REQUIRE(target[i] == UNTOUCHED);
  }
}
