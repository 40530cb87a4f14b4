/* The next value on the same connection: after one that was cancelled, that failed, that waited, or that ended in its chunk. */
#include "check.h"
#include "framed.h"
#include "framing.h"
#include "source.h"

static uint64_t below(uint64_t *seed, uint64_t most)
{
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*seed >> 33) % most;
}

/*
 * 100 connections by turns, each a few bytes at a time. Of every two values the first is cancelled somewhere, also before
 * its first byte; the second must be the second.
 */
TEST(after_a_cancelled_value_the_next_is_in_step_with_nothing_of_the_first)
{
  enum { CONNECTIONS = 100, FOLLOW_UPS = 10 };
  static struct framed decoders[CONNECTIONS];
  static size_t at[CONNECTIONS];
  static int cancelled[CONNECTIONS]; /* the value that is under way, or is the next */
  int connections = check_under_tool() ? 5 : CONNECTIONS, right = 0, open = connections;
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  brimful_pool *pool = new_pool(0);
  uint64_t seed = 7;
  for (int i = 0; i < 2 * FOLLOW_UPS; i++) { /* H9 */
    size_t length = i % 2 == 0 ? 30000 : (size_t)(i * 997);
    framing_value(&framing, i, length, 5000, i % 3 == 0 ? FRAMED_UNKNOWN : length);
  }
  packets = framing_packets(&framing, 4096);
  for (int i = 0; i < connections; i++) {
    REQUIRE(framed_open(&decoders[i], pool, NULL) == BRIMFUL_OK);
    at[i] = 0;
  }
  while (open > 0) {
    struct framed *decoder = &decoders[below(&seed, (uint64_t)connections)];
    size_t *place = &at[decoder - decoders], used;
    size_t left = packets.length - *place, piece = 1 + below(&seed, 9000);
    if (left == 0)
      continue;
    int value = (int)decoder->values, *is_cancelled = &cancelled[decoder - decoders];
    if (value % 2 == 0 && !*is_cancelled && (below(&seed, 3) == 0 || piece > 5000)) {
      framed_cancel(decoder);
      *is_cancelled = 1;
      SAME(decoder->ended ? 0 : brimful_collector_copy(decoder->collector, 0, &used, 1), 0);
    }
    brimful_status status = framed_feed(decoder, packets.bytes + *place, left < piece ? left : piece, &used);
    *place += used;
    open -= *place == packets.length;
    if (status == BRIMFUL_PENDING)
      continue;
    STATUS(status, BRIMFUL_OK);
    STATUS(decoder->outcome, *is_cancelled ? BRIMFUL_ERR_CANCELLED : BRIMFUL_OK);
    *is_cancelled = 0;
    if (value % 2 == 1) {
      brimful_buffer *buffer;
      const void *data;
      size_t length;
      STATUS(brimful_collector_finish(decoder->collector, &buffer), BRIMFUL_OK);
      STATUS(brimful_buffer_data(buffer, &data, &length), BRIMFUL_OK);
      right += length == (size_t)(value * 997) && is_content(data, value, 0, length);
      brimful_buffer_release(buffer);
    }
  }
  SAME(right, connections * FOLLOW_UPS);
  for (int i = 0; i < connections; i++) {
    STATUS(framed_end(&decoders[i]), BRIMFUL_OK);
    framed_close(&decoders[i]);
  }
  brimful_pool_release(pool);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_value_that_nobody_took_is_not_seen_when_the_next_one_begins)
{
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  struct framed decoder;
  unsigned char byte;
  size_t used, at = 0;
  for (int i = 0; i < 3; i++) /* H3 */
    framing_value(&framing, i, i == 1 ? 0 : 100, 100, i == 1 ? FRAMED_MISSING : 100);
  packets = framing_packets(&framing, 32767);
  REQUIRE(framed_open(&decoder, NULL, NULL) == BRIMFUL_OK);
  STATUS(framed_feed(&decoder, packets.bytes, packets.length, &used), BRIMFUL_OK);
  SAME(brimful_collector_copy(decoder.collector, 0, &byte, 1), 1);
  for (at = used; packets.owners[at] != 2; at += used) {
    framed_feed(&decoder, packets.bytes + at, 1, &used);
    SAME(brimful_collector_copy(decoder.collector, 0, &byte, 1), 0);
  }
  SAME(decoder.values, 2);
  framed_close(&decoder);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_cancelled_value_gives_its_memory_back_before_the_rest_of_it_comes)
{
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  brimful_pool *pool = new_pool(0);
  brimful_pool_statistics seen;
  struct framed decoder;
  size_t used;
  seen.struct_size = sizeof seen;
  framing_value(&framing, 0, 5000000, 5000000, FRAMED_UNKNOWN);
  packets = framing_packets(&framing, 32767);
  REQUIRE(framed_open(&decoder, pool, NULL) == BRIMFUL_OK);
  STATUS(framed_feed(&decoder, packets.bytes, 4500000, &used), BRIMFUL_PENDING);
  framed_cancel(&decoder);
  STATUS(brimful_pool_stats(pool, &seen), BRIMFUL_OK);
  CHECK(seen.outstanding_bytes <= 1 << 20);
  STATUS(framed_feed(&decoder, packets.bytes + used, packets.length - used, &used), BRIMFUL_OK);
  STATUS(decoder.outcome, BRIMFUL_ERR_CANCELLED);
  STATUS(brimful_pool_stats(pool, &seen), BRIMFUL_OK);
  CHECK(seen.outstanding_bytes <= 1 << 20);
  framed_close(&decoder);
  brimful_pool_release(pool);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_value_that_is_too_large_or_not_what_its_total_said_fails_alone)
{
  static const struct {
    uint64_t total;
    brimful_status outcome;
    uint64_t partial;
  } cases[] = { { 100, BRIMFUL_OK, 0 },           { 101, BRIMFUL_ERR_SHORT, 100 }, { 99, BRIMFUL_ERR_LONG, 99 },
                { 151, BRIMFUL_ERR_LIMIT, 0 },    { 0, BRIMFUL_ERR_LONG, 0 },      { FRAMED_UNKNOWN, BRIMFUL_OK, 0 },
                { UINT64_C(1) << 62, BRIMFUL_ERR_LIMIT, 0 } };
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct framed decoder;
  for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
    framing_value(&framing, (int)i, 100, 33, cases[i].total);
  packets = framing_packets(&framing, 64);
  options.limit = 150; /* H18: it holds for each value */
  for (size_t each = 1; each <= packets.length; each += 5) {
    REQUIRE(framed_open(&decoder, NULL, &options) == BRIMFUL_OK);
    for (size_t at = 0; at < packets.length;) {
      size_t left = packets.length - at, used;
      brimful_status status = framed_feed(&decoder, packets.bytes + at, left < each ? left : each, &used);
      at += used;
      if (status == BRIMFUL_PENDING)
        continue;
      int value = (int)decoder.values - 1;
      brimful_buffer *buffer;
      STATUS(decoder.outcome, cases[value].outcome);
      if (decoder.outcome != BRIMFUL_OK) {
        unsigned char partial[150];
        STATUS(brimful_collector_take_partial(decoder.collector, &buffer), BRIMFUL_OK);
        SAME(brimful_buffer_length(buffer), cases[value].partial);
        SAME(brimful_buffer_copy(buffer, 0, partial, sizeof partial), cases[value].partial);
        CHECK(is_content(partial, value, 0, cases[value].partial));
      } else {
        STATUS(brimful_collector_finish(decoder.collector, &buffer), BRIMFUL_OK);
        SAME(brimful_buffer_length(buffer), 100);
      }
      brimful_buffer_release(buffer);
    }
    SAME(decoder.values, ARRAY_LENGTH(cases));
    framed_close(&decoder);
  }
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_value_that_finds_no_memory_within_the_budget_goes_on_when_there_is_some)
{
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  struct framed decoder, other;
  brimful_buffer *held, *buffer;
  size_t at = 0, used;
  brimful_status status;
  framing_value(&framing, 0, 300000, 300000, FRAMED_UNKNOWN);
  packets = framing_packets(&framing, 8000);
  options.budget = 800000;
  REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  REQUIRE(framed_open(&decoder, pool, NULL) == BRIMFUL_OK);
  REQUIRE(framed_open(&other, pool, NULL) == BRIMFUL_OK);
  STATUS(framed_feed(&other, packets.bytes, packets.length, &used), BRIMFUL_OK);
  STATUS(brimful_collector_finish(other.collector, &held), BRIMFUL_OK);
  framed_close(&other);
  brimful_collector *more;
  REQUIRE(brimful_collector_new(pool, NULL, &more) == BRIMFUL_OK);
  do { /* E30: takes what the budget has left */
    void *window;
    size_t room;
    status = brimful_collector_reserve(more, 1, &window, &room);
    if (status == BRIMFUL_OK)
      STATUS(brimful_collector_commit(more, room), BRIMFUL_OK);
  } while (status == BRIMFUL_OK);
  STATUS(status, BRIMFUL_ERR_BUDGET);
  while ((status = framed_feed(&decoder, packets.bytes + at, packets.length - at, &used)) == BRIMFUL_PENDING)
    at += used;
  at += used;
  STATUS(status, BRIMFUL_ERR_BUDGET);
  STATUS(framed_feed(&decoder, packets.bytes + at, packets.length - at, &used), BRIMFUL_ERR_BUDGET);
  SAME(used, 0);
  brimful_collector_free(more);
  brimful_buffer_release(held);
  STATUS(framed_feed(&decoder, packets.bytes + at, packets.length - at, &used), BRIMFUL_OK);
  STATUS(brimful_collector_finish(decoder.collector, &buffer), BRIMFUL_OK);
  const void *data;
  size_t length;
  STATUS(brimful_buffer_data(buffer, &data, &length), BRIMFUL_OK);
  CHECK(length == 300000 && is_content(data, 0, 0, length));
  brimful_buffer_release(buffer);
  framed_close(&decoder);
  brimful_pool_release(pool);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_body_s_tail_and_the_next_one_s_head_in_one_chunk_go_by_taken)
{
  enum { BODIES = 200 };
  struct framing all = { NULL, NULL, 0, 0 };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  uint64_t seed = 3;
  size_t lengths[BODIES];
  for (int i = 0; i < BODIES; i++) { /* bodies of known length, one behind the other */
    lengths[i] = below(&seed, 5) == 0 ? 0 : below(&seed, 3000);
    for (size_t byte = 0; byte < lengths[i]; byte++) {
      unsigned char value = content(i, byte);
      framing_put(&all, &value, 1, i);
    }
  }
  for (int round = 0; round < (check_under_tool() ? 2 : 50); round++) {
    size_t at = 0, piece = 0, taken;
    options.length = lengths[0];
    options.prefer = round % 2 == 0 ? BRIMFUL_PREFER_POOLED : BRIMFUL_PREFER_EXACT;
    REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
    for (int i = 0; i < BODIES;) {
      if (piece == 0) {
        piece = 1 + below(&seed, 5000);
        piece = piece < all.length - at ? piece : all.length - at;
      }
      STATUS(brimful_collector_write(collector, all.bytes + at, piece, &taken), BRIMFUL_OK);
      at += taken;
      piece -= taken;
      if (brimful_collector_is_complete(collector) != 1) {
        SAME(piece, 0);
        continue;
      }
      brimful_buffer *buffer;
      const void *data;
      size_t length;
      STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
      STATUS(brimful_buffer_data(buffer, &data, &length), BRIMFUL_OK);
      CHECK(length == lengths[i] && is_content(data, i, 0, length));
      brimful_buffer_release(buffer);
      if (++i < BODIES) {
        options.length = lengths[i];
        STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
      }
    }
    SAME(at, all.length);
    brimful_collector_free(collector);
  }
  framing_free(&all);
}
