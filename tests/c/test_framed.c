/*
 * Values over many packets (examples/c/framed.h): wherever they are cut and stopped, what was put in comes out. The model
 * is framing.c, which knows of each byte on the way which value it belongs to. Hazards H1 to H11; E27 to E30, E40.
 */
#include "check.h"
#include "framed.h"
#include "framing.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>

/* What a test does with a connection: where it stops, and which result it takes. */
struct reader {
  struct framed decoder;
  const struct framing *packets;
  size_t at;               /* bytes of the connection that were fed */
  size_t *lengths;         /* of the values, or NULL: not compared */
  int value;               /* number of the value that is under way */
  size_t arrived;          /* its bytes on the connection so far */
  int exact;
  size_t offset;           /* of the caller who reads on in pieces */
  size_t piece;            /* the size of its next piece; 0: nobody reads in pieces */
  int wrong;
};

static uint64_t below(uint64_t *seed, uint64_t most)
{
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*seed >> 33) % most;
}

/* Takes the value that has ended, in the way that is wanted, and compares it. */
static int taken_is_right(struct reader *reader, size_t length)
{
  int good;
  if (reader->exact) {
    void *data;
    size_t came;
    if (brimful_collector_finish_exact(reader->decoder.collector, &data, &came) != BRIMFUL_OK)
      return 0;
    good = came == length && is_content(data, reader->value, 0, came);
    free(data);
    return good;
  }
  brimful_buffer *buffer;
  brimful_slice slices[4];
  size_t at = 0, index = 0, count;
  if (brimful_collector_finish(reader->decoder.collector, &buffer) != BRIMFUL_OK)
    return 0;
  good = brimful_buffer_length(buffer) == length;
  while (good && (count = brimful_buffer_segments(buffer, index, slices, 4)) > 0) {
    for (size_t i = 0; i < count; i++) {
      good = good && is_content(slices[i].data, reader->value, at, slices[i].length);
      at += slices[i].length;
    }
    index += count;
  }
  brimful_buffer_release(buffer);
  return good && at == length;
}

/* What has come so far is there, from the caller's own offset on; pieces become smaller, and all sizes are odd. */
static void read_pieces(struct reader *reader)
{
  unsigned char piece[4099];
  while (reader->piece > 0) {
    size_t count = brimful_collector_copy(reader->decoder.collector, reader->offset, piece, reader->piece);
    size_t there = reader->arrived - reader->offset, expected = there < reader->piece ? there : reader->piece;
    if (count != expected || !is_content(piece, reader->value, reader->offset, count))
      reader->wrong = 1;
    if (count == 0)
      return;
    reader->offset += count;
    reader->piece = reader->piece > 4 ? reader->piece - 2 : 4099;
  }
}

/* Feeds the next bytes of the connection, up to `stop`, over as many values as end there. */
static void feed_to(struct reader *reader, size_t stop)
{
  while (reader->at < stop && !reader->wrong) {
    size_t used;
    brimful_status status = framed_feed(&reader->decoder, reader->packets->bytes + reader->at, stop - reader->at, &used);
    for (size_t end = reader->at + used; reader->at < end; reader->at++)
      reader->arrived += reader->packets->owners[reader->at] == reader->value;
    if (status == BRIMFUL_PENDING && reader->at == stop) {
      read_pieces(reader);
    } else if (status == BRIMFUL_OK && reader->decoder.outcome == BRIMFUL_OK) {
      size_t length = reader->lengths[reader->value];
      read_pieces(reader);
      if (reader->decoder.missing != (length == SIZE_MAX) || (length != SIZE_MAX && !taken_is_right(reader, length)))
        reader->wrong = 1;
      reader->value++;
      reader->arrived = reader->offset = 0;
    } else {
      reader->wrong = 1;
    }
  }
}

static struct reader reader_of(const struct framing *packets, size_t *lengths, brimful_pool *pool, int exact)
{
  struct reader reader = { .packets = packets, .lengths = lengths, .exact = exact, .piece = 4099 };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.prefer = exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  if (framed_open(&reader.decoder, pool, &options) != BRIMFUL_OK)
    abort();
  return reader;
}

/* The whole connection with stops at these places: every value is what was put in. */
static int comes_right(const struct framing *packets, size_t *lengths, int values, brimful_pool *pool, int exact,
                       const size_t *stops, size_t count)
{
  struct reader reader = reader_of(packets, lengths, pool, exact);
  for (size_t i = 0; i < count; i++)
    feed_to(&reader, stops[i]);
  feed_to(&reader, packets->length);
  int good = !reader.wrong && reader.value == values && framed_end(&reader.decoder) == BRIMFUL_OK;
  framed_close(&reader.decoder);
  return good;
}

/* A value of two chunks, `cut` and the rest, whose total is told or not, then one of 3 bytes, then a missing one. */
static struct framing three_values(size_t length, size_t cut, int tells, size_t packet)
{
  struct framing values = { NULL, NULL, 0, 0 };
  framing_number(&values, tells ? length : FRAMED_UNKNOWN, 8);
  for (int half = 0; half < 2; half++) {
    size_t from = half ? cut : 0, to = half ? length : cut;
    if (from == to)
      continue;
    framing_number(&values, to - from, 4);
    for (size_t i = from; i < to; i++) {
      unsigned char byte = content(0, i);
      framing_put(&values, &byte, 1, 0);
    }
  }
  framing_number(&values, 0, 4);
  framing_value(&values, 1, 3, 3, 3);
  framing_value(&values, 2, 0, 1, FRAMED_MISSING);
  struct framing packets = framing_packets(&values, packet);
  framing_free(&values);
  return packets;
}

static const size_t packet_sizes[] = { 9, 13, 31, 32767 };

TEST(each_value_of_up_to_64_bytes_cut_anywhere_and_stopped_anywhere_is_what_was_put_in)
{
  brimful_pool *pools[] = { new_pool(0), new_pool(BRIMFUL_POOL_LIST) };
  size_t step = check_under_tool() ? 21 : 1;
  for (size_t length = 0; length <= 64; length += step) {
    for (size_t cut = 0; cut <= length; cut += step) {
      for (size_t p = 0; p < ARRAY_LENGTH(packet_sizes); p++) {
        size_t lengths[] = { length, 3, SIZE_MAX };
        struct framing packets = three_values(length, cut, (length + cut) % 2 == 0, packet_sizes[p]);
        for (size_t stop = 0; stop <= packets.length; stop++) {
          if (!comes_right(&packets, lengths, 3, pools[stop % 2], stop / 2 % 2, &stop, 1)) {
            printf("  %zu bytes, chunk of %zu, packets of %zu, stop at %zu\n", length, cut, packet_sizes[p], stop);
            CHECK(!"what was put in");
          }
        }
        framing_free(&packets);
      }
    }
  }
  brimful_pool_release(pools[0]);
  brimful_pool_release(pools[1]);
}

TEST(two_stops_anywhere_lose_nothing)
{
  static const size_t sizes[] = { 0, 1, 2, 7, 33, 64 };
  brimful_pool *pool = new_pool(0);
  for (size_t i = 0; i < ARRAY_LENGTH(sizes) && !check_under_tool(); i++) { /* H2 */
    for (size_t p = 1; p < ARRAY_LENGTH(packet_sizes); p++) {
      size_t lengths[] = { sizes[i], 3, SIZE_MAX };
      struct framing packets = three_values(sizes[i], sizes[i] / 3, i % 2 == 0, packet_sizes[p]);
      for (size_t first = 0; first <= packets.length; first++) {
        for (size_t second = first; second <= packets.length; second++) {
          const size_t stops[] = { first, second };
          CHECK(comes_right(&packets, lengths, 3, pool, (first + second) % 2 == 0, stops, 2));
        }
      }
      framing_free(&packets);
    }
  }
  brimful_pool_release(pool);
}

TEST(headers_totals_and_chunk_lengths_may_be_cut_at_each_byte_and_at_every_set_of_them)
{
  enum { WIDE = 12 };
  size_t lengths[] = { 5, 3, SIZE_MAX };
  struct framing packets = three_values(5, 2, 1, 19); /* H8 */
  brimful_pool *pool = new_pool(0);
  for (size_t from = 0; from + WIDE <= packets.length; from += check_under_tool() ? 40 : 4) {
    for (unsigned set = 0; set < 1u << WIDE; set += check_under_tool() ? 97 : 1) {
      size_t stops[WIDE], count = 0;
      for (unsigned bit = 0; bit < WIDE; bit++) {
        if (set >> bit & 1)
          stops[count++] = from + bit;
      }
      CHECK(comes_right(&packets, lengths, 3, pool, set % 2 == 0, stops, count));
    }
  }
  framing_free(&packets);
  brimful_pool_release(pool);
}

/* Values, packets, chunks and stops at random. */
static int random_connection_is_right(uint64_t *seed, brimful_pool *pool, uint64_t most, int values)
{
  static const size_t sizes[] = { 9, 100, 512, 4096, 8000, 32767, 65535 };
  size_t lengths[40], packet = sizes[below(seed, ARRAY_LENGTH(sizes))], stops[1];
  struct framing framing = { NULL, NULL, 0, 0 };
  if (most > 100000 && packet < 512)
    packet = 512;
  for (int i = 0; i < values; i++) {
    lengths[i] = below(seed, 6) == 0 ? 0 : below(seed, most + 1);
    size_t each = 1 + below(seed, lengths[i] + 1);
    uint64_t total = below(seed, 2) ? lengths[i] : FRAMED_UNKNOWN;
    if (below(seed, 8) == 0) {
      lengths[i] = SIZE_MAX;
      total = FRAMED_MISSING;
    }
    framing_value(&framing, i, lengths[i], each < 50 ? each + 50 : each, total);
  }
  struct framing packets = framing_packets(&framing, packet);
  struct reader reader = reader_of(&packets, lengths, pool, (int)below(seed, 2));
  if (below(seed, 3) == 0)
    reader.piece = 0;
  while (reader.at < packets.length && !reader.wrong) {
    uint64_t left = packets.length - reader.at;
    stops[0] = below(seed, 4) == 0 ? 1 : 1 + below(seed, left < 40000 ? left : 40000);
    feed_to(&reader, reader.at + stops[0]);
  }
  int good = !reader.wrong && reader.value == values;
  framed_close(&reader.decoder);
  framing_free(&framing);
  framing_free(&packets);
  return good;
}

TEST(random_values_of_up_to_5_MiB_over_packets_of_any_size_are_what_was_put_in)
{
  uint64_t seed = 20261130;
  brimful_pool *pools[] = { new_pool(0), new_pool(BRIMFUL_POOL_LIST) };
  for (int i = 0; i < (check_under_tool() ? 2 : 300); i++)
    CHECK(random_connection_is_right(&seed, pools[i % 2], 3000, 20));
  for (int i = 0; i < (check_under_tool() ? 0 : 16); i++)
    CHECK(random_connection_is_right(&seed, pools[i % 2], 5 << 20, 3));
  brimful_pool_release(pools[0]);
  brimful_pool_release(pools[1]);
}

/* What one value of 5 MiB cost, fed so many bytes at a time. */
static brimful_info cost_of(const struct framing *packets, brimful_pool *pool, int exact, size_t each)
{
  size_t lengths[] = { 5 << 20 };
  struct reader reader = reader_of(packets, lengths, pool, exact);
  reader.piece = 0;
  while (reader.at < packets->length && !reader.wrong)
    feed_to(&reader, packets->length - reader.at < each ? packets->length : reader.at + each);
  CHECK(!reader.wrong && reader.value == 1);
  brimful_info info = info_of(reader.decoder.collector);
  framed_close(&reader.decoder);
  return info;
}

TEST(a_value_that_stops_after_every_packet_costs_the_same_memory_and_copies_as_one_that_does_not)
{
  for (int way = 0; way < (check_under_tool() ? 1 : 8); way++) { /* E27 */
    int exact = way & 1, tells = way >> 1 & 1;
    struct framing framing = { NULL, NULL, 0, 0 };
    framing_value(&framing, 0, 5 << 20, 16384, tells ? 5 << 20 : FRAMED_UNKNOWN);
    struct framing packets = framing_packets(&framing, 8000);
    brimful_info infos[2];
    for (int stops = 0; stops < 2; stops++) {
      brimful_pool *pool = new_pool(way & 4 ? BRIMFUL_POOL_LIST : 0);
      infos[stops] = cost_of(&packets, pool, exact, stops ? 8000 : packets.length);
      brimful_pool_release(pool);
    }
    SAME(infos[1].copied, infos[0].copied);
    SAME(infos[1].allocations, infos[0].allocations);
    SAME(infos[1].allocated_bytes, infos[0].allocated_bytes);
    SAME(infos[1].peak_held, infos[0].peak_held);
    if (tells)
      SAME(infos[1].copied, 0);
    else
      CHECK(infos[1].copied <= (exact ? 5 << 20 : 0) + (1 << 20));
    framing_free(&framing);
    framing_free(&packets);
  }
}

TEST(a_value_whose_last_bytes_end_at_a_stop_is_whole_when_its_end_comes_alone)
{
  size_t lengths[] = { 100, 3, SIZE_MAX }, end = 8 + 8 + 4 + 100; /* H1 */
  struct framing packets = three_values(100, 0, 0, 32767);
  struct reader reader = reader_of(&packets, lengths, NULL, 0);
  feed_to(&reader, end);
  SAME(reader.value, 0);
  SAME(brimful_collector_is_complete(reader.decoder.collector), 0);
  feed_to(&reader, end + 4);
  SAME(reader.value, 1);
  CHECK(!reader.wrong);
  framed_close(&reader.decoder);
  framing_free(&packets);
}

TEST(two_thousand_values_that_share_packets_leave_nothing_behind_and_take_no_more_memory)
{
  enum { VALUES = 2000, WARM = 200 };
  static const size_t sizes[] = { 0, 1, 3, 100, 5000, SIZE_MAX, 17, 70000, 300, 1000, 12, 250000 };
  size_t rounds = check_under_tool() ? WARM + 50 : VALUES; /* H3, E40 */
  static size_t lengths[VALUES];
  struct framing framing = { NULL, NULL, 0, 0 };
  for (size_t i = 0; i < rounds; i++) {
    lengths[i] = sizes[i % ARRAY_LENGTH(sizes)];
    if (lengths[i] == SIZE_MAX)
      framing_value(&framing, (int)i, 0, 1, FRAMED_MISSING);
    else
      framing_value(&framing, (int)i, lengths[i], 900 + i, i % 3 == 0 ? FRAMED_UNKNOWN : lengths[i]);
  }
  struct framing packets = framing_packets(&framing, 4096);
  brimful_pool *pool = new_pool(0);
  struct reader reader = reader_of(&packets, lengths, pool, 0);
  brimful_pool_statistics warm, seen;
  warm.struct_size = seen.struct_size = sizeof seen;
  while (reader.value < WARM && !reader.wrong)
    feed_to(&reader, reader.at + 1500);
  STATUS(brimful_pool_stats(pool, &warm), BRIMFUL_OK);
  while (reader.at < packets.length && !reader.wrong)
    feed_to(&reader, reader.at + 1500 < packets.length ? reader.at + 1500 : packets.length);
  CHECK(!reader.wrong);
  SAME(reader.value, rounds);
  STATUS(brimful_pool_stats(pool, &seen), BRIMFUL_OK);
  SAME(seen.allocated, warm.allocated);
  SAME(seen.allocated_bytes, warm.allocated_bytes);
  SAME(seen.peak_bytes, warm.peak_bytes);
  framed_close(&reader.decoder);
  STATUS(brimful_pool_stats(pool, &seen), BRIMFUL_OK);
  SAME(seen.outstanding, 0);
  brimful_pool_release(pool);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_caller_who_reads_on_in_ever_smaller_pieces_never_gets_nothing_before_the_end_and_keeps_its_offset)
{
  enum { LENGTH = 1000000 };
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  struct framed decoder;
  size_t at = 0, used, offset = 0, piece = 65521;
  static unsigned char bytes[65521];
  brimful_status status = BRIMFUL_PENDING;
  framing_value(&framing, 0, LENGTH, 70001, FRAMED_UNKNOWN); /* H4, H7 */
  packets = framing_packets(&framing, 8000);
  REQUIRE(framed_open(&decoder, NULL, NULL) == BRIMFUL_OK);
  while (offset < LENGTH) {
    size_t want = LENGTH - offset < piece ? LENGTH - offset : piece, count;
    while ((count = brimful_collector_copy(decoder.collector, offset, bytes, want)) < want && status == BRIMFUL_PENDING) {
      size_t left = packets.length - at;
      status = framed_feed(&decoder, packets.bytes + at, left < 8000 ? left : 8000, &used);
      at += used;
    }
    SAME(count, want);
    CHECK(is_content(bytes, 0, offset, count));
    REQUIRE(count > 0);
    offset += count;
    piece = piece > 101 ? piece * 2 / 3 | 1 : 101;
  }
  SAME(brimful_collector_copy(decoder.collector, LENGTH, bytes, 1), 0);
  framed_close(&decoder);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(the_pieces_from_before_a_stop_are_still_there_after_it)
{
  struct framing framing = { NULL, NULL, 0, 0 }, packets;
  struct framed decoder;
  brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
  brimful_slice slices[64];
  framing_value(&framing, 0, 500000, 500000, FRAMED_UNKNOWN); /* H5 */
  packets = framing_packets(&framing, 4096);
  REQUIRE(framed_open(&decoder, pool, NULL) == BRIMFUL_OK);
  size_t arrived = 0, most = 0;
  for (size_t at = 0; at < packets.length;) {
    size_t left = packets.length - at, used, seen = 0;
    framed_feed(&decoder, packets.bytes + at, left < 4096 ? left : 4096, &used);
    for (size_t end = at + used; at < end; at++)
      arrived += packets.owners[at] == 0;
    size_t count = brimful_collector_segments(decoder.collector, 0, slices, ARRAY_LENGTH(slices));
    for (size_t i = 0; i < count; i++) {
      CHECK(is_content(slices[i].data, 0, seen, slices[i].length));
      seen += slices[i].length;
    }
    SAME(seen, arrived);
    most = count > most ? count : most;
  }
  CHECK(most > 3);
  SAME(decoder.values, 1);
  framed_close(&decoder);
  brimful_pool_release(pool);
  framing_free(&framing);
  framing_free(&packets);
}

TEST(an_empty_value_and_a_missing_one_stay_two_things)
{
  static const uint64_t totals[] = { 0, FRAMED_MISSING, FRAMED_UNKNOWN, FRAMED_MISSING, 0 };
  struct framing framing = { NULL, NULL, 0, 0 }, packets; /* H6 */
  struct framed decoder;
  for (size_t i = 0; i < ARRAY_LENGTH(totals); i++)
    framing_value(&framing, (int)i, 0, 1, totals[i]);
  packets = framing_packets(&framing, 11);
  for (size_t each = 1; each <= packets.length; each++) {
    size_t at = 0;
    REQUIRE(framed_open(&decoder, NULL, NULL) == BRIMFUL_OK);
    while (at < packets.length) {
      size_t left = packets.length - at, used;
      brimful_status status = framed_feed(&decoder, packets.bytes + at, left < each ? left : each, &used);
      at += used;
      if (status == BRIMFUL_PENDING)
        continue;
      brimful_buffer *buffer = NULL;
      STATUS(status, BRIMFUL_OK);
      SAME(decoder.missing, totals[decoder.values - 1] == FRAMED_MISSING);
      STATUS(brimful_collector_finish(decoder.collector, &buffer), decoder.missing ? BRIMFUL_ERR_STATE : BRIMFUL_OK);
      SAME(brimful_buffer_length(buffer), 0);
      brimful_buffer_release(buffer);
    }
    SAME(decoder.values, ARRAY_LENGTH(totals));
    framed_close(&decoder);
  }
  framing_free(&framing);
  framing_free(&packets);
}

TEST(a_thousand_stops_without_a_byte_change_nothing)
{
  size_t lengths[] = { 64, 3, SIZE_MAX }; /* H10 */
  struct framing packets = three_values(64, 20, 1, 31);
  struct reader reader = reader_of(&packets, lengths, NULL, 1);
  for (size_t at = 0; at < packets.length; at += 7) {
    size_t used;
    feed_to(&reader, at);
    for (int i = 0; i < 1000 && reader.arrived > 0 && !reader.decoder.ended; i++)
      STATUS(framed_feed(&reader.decoder, NULL, 0, &used), BRIMFUL_PENDING);
  }
  feed_to(&reader, packets.length);
  CHECK(!reader.wrong);
  SAME(reader.value, 3);
  framed_close(&reader.decoder);
  framing_free(&packets);
}

TEST(no_byte_is_turned_or_cleared_at_the_interval_of_a_packet_or_block)
{
  static const size_t packets_of[] = { 251 + 8, 502 + 8, 4096, 4096 + 8, 16384 + 8 };
  for (size_t p = 0; p < ARRAY_LENGTH(packets_of); p++) { /* H11: the content comes again at none of these intervals */
    for (int list = 0; list < 2; list++) {
      size_t lengths[] = { 600000 }, stops[1];
      struct framing framing = { NULL, NULL, 0, 0 };
      framing_value(&framing, 0, lengths[0], packets_of[p] * 3, FRAMED_UNKNOWN);
      struct framing packets = framing_packets(&framing, packets_of[p]);
      brimful_pool *pool = new_pool(list ? BRIMFUL_POOL_LIST : 0);
      struct reader reader = reader_of(&packets, lengths, pool, list);
      for (stops[0] = packets_of[p]; stops[0] < packets.length; stops[0] += packets_of[p])
        feed_to(&reader, stops[0]);
      feed_to(&reader, packets.length);
      CHECK(!reader.wrong);
      SAME(reader.value, 1);
      framed_close(&reader.decoder);
      brimful_pool_release(pool);
      framing_free(&framing);
      framing_free(&packets);
    }
  }
}

TEST(a_connection_that_is_not_in_the_format_says_so_from_then_on_and_one_that_is_cut_says_that)
{
  size_t lengths[] = { 5, 3, SIZE_MAX };
  for (size_t wrong = 0; wrong < 8; wrong++) {
    struct framing packets = three_values(5, 2, 1, 31);
    struct framed decoder;
    size_t used;
    packets.bytes[31 + wrong] ^= 0x80; /* in the second header */
    REQUIRE(framed_open(&decoder, NULL, NULL) == BRIMFUL_OK);
    brimful_status status = BRIMFUL_OK;
    for (size_t at = 0; at < packets.length && (status == BRIMFUL_OK || status == BRIMFUL_PENDING); at += used)
      status = framed_feed(&decoder, packets.bytes + at, packets.length - at, &used);
    if (wrong != 1 && wrong != 2 && wrong != 3) { /* flags mean nothing, and lengths are not known to be wrong */
      STATUS(status, FRAMED_BROKEN);
      STATUS(framed_feed(&decoder, packets.bytes, packets.length, &used), FRAMED_BROKEN);
    }
    framed_close(&decoder);
    framing_free(&packets);
  }
  struct framing packets = three_values(5, 2, 1, 31); /* no value ends with a packet, but the last */
  for (size_t cut = 0; cut <= packets.length; cut++) {
    struct reader reader = reader_of(&packets, lengths, NULL, 0);
    feed_to(&reader, cut);
    STATUS(framed_end(&reader.decoder), cut == 0 || cut == packets.length ? BRIMFUL_OK : BRIMFUL_ERR_SHORT);
    framed_close(&reader.decoder);
  }
  framing_free(&packets);
}
