/*
 * Reads one value over many packets in the ways that measure.py asks for on stdin, a command a line:
 *
 *     load PACKETS CONTENT SIZE              what is read, what must come out, and the size of a packet
 *     read WAY USE STOPS STRIDE REPEATS      ns for one value, the mean of REPEATS
 *     count WAY USE STOPS STRIDE             what the counting library saw of one value
 *     check WAY USE STOPS                    right or wrong
 *
 * WAY: replay (a new target for each attempt), cached (one that is kept), pooled, exact, exact-unknown (ours). USE: whole or
 * pieces. STOPS: 1 after each packet, 0 none. STRIDE: of the attempts of a replay only each so many-th is made and counts
 * for all of them, since all would take minutes.
 */
#include "../c/counts.h"
#include "framed.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((weak)) void counts_begin(void);
__attribute__((weak)) void counts_end(struct counts *out);

static const size_t pieces[] = { 65521, 32749, 16381, 8191, 4093, 2039, 1021 };
#define PIECES (sizeof pieces / sizeof pieces[0])

static unsigned char *packets, *expected;
static size_t packets_length, length, packet_size;
static size_t stride; /* 0: only the last attempt */
static int checking, wrong;
static struct counts seen;

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void give_up(const char *what)
{
  fprintf(stderr, "framed: %s\n", what);
  exit(1);
}

/* Every result goes through here, so that no compiler drops it. */
static void show(const void *data, size_t at, size_t count)
{
  __asm__ volatile("" : : "r"(data), "r"(count) : "memory");
  if (checking && (at + count > length || memcmp(data, expected + at, count) != 0))
    wrong = 1;
}

static void *fresh(size_t size)
{
  void *memory = calloc(1, size);
  if (memory == NULL)
    give_up("no memory");
  return memory;
}

/* ---- replay: how long all attempts take, of which each stride-th is made */

static int attempt_whole(size_t came, unsigned char **target, int keeps)
{
  struct replay replay = { packets, came, 0, 0, 0, 0 };
  uint64_t total;
  size_t got, end;
  unsigned char none;
  if (!replay_total(&replay, &total))
    return 0;
  if (!keeps)
    *target = fresh((size_t)total);
  int whole = replay_bytes(&replay, *target, (size_t)total, &got) && replay_bytes(&replay, &none, 1, &end);
  if (whole)
    show(*target, 0, got);
  if (!keeps)
    free(*target);
  return whole;
}

static double replay_whole(int stops, int keeps)
{
  double took = 0, started;
  struct counts here;
  size_t count = (packets_length + packet_size - 1) / packet_size;
  unsigned char *target = keeps ? fresh(length) : NULL;
  memset(&seen, 0, sizeof seen);
  if (keeps) {
    seen.allocations = 1;
    seen.allocated = length;
  }
  for (size_t i = stops ? 1 : count; i <= count; i++) {
    int is_last = i == count, stands_for = is_last ? 1 : (int)stride;
    if (!is_last && (stride == 0 || i % stride != stride / 2))
      continue;
    if (counts_begin != NULL)
      counts_begin();
    started = now();
    attempt_whole(is_last ? packets_length : i * packet_size, &target, keeps);
    took += (now() - started) * stands_for;
    if (counts_end != NULL) {
      counts_end(&here);
      seen.allocations += here.allocations * (uint64_t)stands_for;
      seen.allocated += here.allocated * (uint64_t)stands_for;
      seen.copied += here.copied * (uint64_t)stands_for;
    }
  }
  if (keeps)
    free(target);
  return took;
}

/* Each piece has attempts of its own, from where the last piece ended. */
static void replay_pieces(int stops, int keeps)
{
  struct replay last = { packets, stops ? 0 : packets_length, 0, 0, 0, 0 };
  size_t at = 0, index = 0, got;
  uint64_t total;
  unsigned char *cached = keeps ? fresh(pieces[0]) : NULL;
  for (;;) {
    struct replay replay = last;
    unsigned char *piece = keeps ? cached : fresh(pieces[index % PIECES]);
    int whole = (at > 0 || replay_total(&replay, &total)) && replay_bytes(&replay, piece, pieces[index % PIECES], &got);
    if (whole) {
      show(piece, at, got);
      at += got;
      index++;
      last = replay;
    } else {
      last.came = last.came + packet_size < packets_length ? last.came + packet_size : packets_length;
    }
    if (!keeps)
      free(piece);
    if (whole && replay.ended)
      break;
  }
  free(cached);
  wrong |= checking && at != length;
}

/* ---- ours */

static void feed(struct framed *decoder, size_t *at, size_t each)
{
  size_t used, left = packets_length - *at;
  brimful_status status = framed_feed(decoder, packets + *at, left < each ? left : each, &used);
  *at += used;
  if (status < 0 || decoder->outcome != BRIMFUL_OK)
    give_up("the value failed");
}

static void ours(int exact, int in_pieces, int stops)
{
  struct framed decoder;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  size_t fed = 0, at = 0, each = stops ? packet_size : packets_length;
  options.prefer = exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  if (framed_open(&decoder, NULL, &options) != BRIMFUL_OK)
    give_up("no decoder");
  if (in_pieces) {
    unsigned char *piece = fresh(pieces[0]);
    for (size_t index = 0; at < length; index++) {
      size_t have = 0, want = pieces[index % PIECES] < length - at ? pieces[index % PIECES] : length - at;
      while (have += brimful_collector_copy(decoder.collector, at + have, piece + have, want - have), have < want)
        feed(&decoder, &fed, each);
      show(piece, at, have);
      at += have;
    }
    free(piece);
  }
  while (decoder.values == 0)
    feed(&decoder, &fed, each);
  if (!in_pieces && exact) {
    void *data;
    if (brimful_collector_finish_exact(decoder.collector, &data, &at) != BRIMFUL_OK)
      give_up("no result");
    show(data, 0, at);
    free(data);
  } else if (!in_pieces) {
    brimful_buffer *buffer;
    const void *data;
    if (brimful_collector_finish(decoder.collector, &buffer) != BRIMFUL_OK ||
        brimful_buffer_data(buffer, &data, &at) != BRIMFUL_OK)
      give_up("no result");
    show(data, 0, at);
    brimful_buffer_release(buffer);
  }
  wrong |= checking && at != length;
  framed_close(&decoder);
}

/* ns for one value. */
static double run(const char *way, int in_pieces, int stops)
{
  int keeps = strcmp(way, "cached") == 0;
  if ((keeps || strcmp(way, "replay") == 0) && !in_pieces)
    return replay_whole(stops, keeps);
  memset(packets + 8, 0, 8); /* the total */
  for (int i = 0; i < 8; i++)
    packets[8 + i] = (unsigned char)((strcmp(way, "exact-unknown") == 0 ? FRAMED_UNKNOWN : length) >> 8 * i);
  if (counts_begin != NULL)
    counts_begin();
  double started = now();
  if (keeps || strcmp(way, "replay") == 0)
    replay_pieces(stops, keeps);
  else
    ours(strncmp(way, "exact", 5) == 0, in_pieces, stops);
  double took = now() - started;
  if (counts_end != NULL)
    counts_end(&seen);
  return took;
}

static unsigned char *load(const char *path, size_t *size)
{
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0)
    give_up(path);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size);
  if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
    give_up(path);
  fclose(file);
  return bytes;
}

int main(void)
{
  static char line[4096], first[2000], second[2000];
  int stops, repeats;
  setvbuf(stdout, NULL, _IOLBF, 0);
  while (fgets(line, sizeof line, stdin) != NULL) {
    repeats = 1;
    stride = 0;
    if (sscanf(line, "load %1999s %1999s %zu", first, second, &packet_size) == 3) {
      free(packets);
      free(expected);
      packets = load(first, &packets_length);
      expected = load(second, &length);
      puts("{}");
    } else if (sscanf(line, "read %1999s %1999s %d %zu %d", first, second, &stops, &stride, &repeats) == 5) {
      double took = 0;
      for (int i = 0; i < repeats; i++)
        took += run(first, second[0] == 'p', stops);
      printf("{\"ns\": %.0f}\n", took / repeats);
    } else if (sscanf(line, "count %1999s %1999s %d %zu", first, second, &stops, &stride) == 4) {
      run(first, second[0] == 'p', stops);
      printf("{\"allocations\": %llu, \"allocated\": %llu, \"copied\": %llu}\n", (unsigned long long)seen.allocations,
             (unsigned long long)seen.allocated, (unsigned long long)seen.copied);
    } else if (sscanf(line, "check %1999s %1999s %d", first, second, &stops) == 3) {
      wrong = 0;
      checking = 1;
      run(first, second[0] == 'p', stops);
      checking = 0;
      printf("{\"right\": %s}\n", wrong ? "false" : "true");
    } else {
      give_up(line);
    }
  }
  return 0;
}
