/*
 * One outcome however a body comes and wherever it goes: each way of feeding a collector, cut and stopped anywhere, into
 * each kind of result, against a model of ten lines. Hazards H1, H5, H7, H11 to H13, H16 to H18.
 */
#include "check.h"
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum drive { PULL, PUSH, PUSH_TAKEN, WINDOW, FD, DRIVES };
enum result { POOLED, EXACT, INTO, RESULTS };

static const char *const drive_names[] = { "pull", "push", "push with taken", "window", "fd" };
static const char *const result_names[] = { "pooled", "exact", "into" };

#define NONE UINT64_MAX
#define GUARD 64
#define UNTOUCHED 0xEE

/* A body, what is said of it, and how it is cut. */
struct body {
  uint64_t bytes, length, hint, limit;
  uint32_t end, flags;
  uint64_t max_step;
  size_t capacity; /* of the target, for into */
  unsigned seed;   /* of the cuts; 0: one piece */
};

struct outcome {
  brimful_status status;
  uint64_t length;
  int truncated;
};

/* What must come of it. A pull that stops at the length never meets a surplus that a push delivers (E16). */
static struct outcome model(const struct body *body, enum drive drive, enum result result)
{
  uint64_t limit = result == INTO && body->capacity < body->limit ? body->capacity : body->limit;
  uint64_t n = body->bytes, e = body->length;
  if (e == NONE && n > limit)
    return (struct outcome){ body->flags & BRIMFUL_TRUNCATE ? BRIMFUL_OK : BRIMFUL_ERR_LIMIT, limit,
                             (body->flags & BRIMFUL_TRUNCATE) != 0 };
  if (e == NONE)
    return (struct outcome){ BRIMFUL_OK, n, 0 };
  if (e > limit)
    return (struct outcome){ BRIMFUL_ERR_LIMIT, 0, 0 };
  if (n < e)
    return (struct outcome){ BRIMFUL_ERR_SHORT, n, 0 };
  int meets_surplus = drive != PUSH_TAKEN && (drive == PUSH || body->end == BRIMFUL_END_EOF);
  return (struct outcome){ n > e && meets_surplus ? BRIMFUL_ERR_LONG : BRIMFUL_OK, e, 0 };
}

static uint64_t random_below(unsigned *seed, uint64_t most)
{
  *seed = *seed * 1103515245u + 12345u;
  return (*seed >> 8) % most;
}

/* The next piece of what is left: 1 byte to all of it. */
static size_t next_piece(unsigned *seed, uint64_t left)
{
  if (*seed == 0)
    return (size_t)left;
  switch (random_below(seed, 3)) {
  case 0:
    return 1;
  case 1:
    return (size_t)(1 + random_below(seed, left));
  default:
    return (size_t)(1 + random_below(seed, left < 5000 ? left : 5000));
  }
}

/* A pull source that stops after each piece. */
struct pull {
  uint64_t given, bytes;
  unsigned seed;
};

static brimful_status pull_read(void *context, void *window, size_t room, size_t *filled)
{
  struct pull *pull = context;
  uint64_t left = pull->bytes - pull->given;
  size_t count;
  if (left == 0)
    return BRIMFUL_OK;
  count = next_piece(&pull->seed, left);
  if (count > room)
    count = room;
  paint(window, pull->given, count);
  pull->given += count;
  *filled = count;
  return pull->seed % 5 == 0 ? BRIMFUL_RETRY : pull->seed % 2 == 0 ? BRIMFUL_OK : BRIMFUL_PENDING;
}

static brimful_status feed_pull(brimful_collector *collector, const struct body *body)
{
  struct pull pull = { 0, body->bytes, body->seed };
  brimful_status status;
  do
    status = brimful_collector_read(collector, pull_read, &pull);
  while (status == BRIMFUL_PENDING || status == BRIMFUL_MORE);
  return status;
}

static brimful_status feed_push(brimful_collector *collector, const struct body *body, int takes)
{
  unsigned seed = body->seed;
  unsigned char *bytes = malloc((size_t)body->bytes + 1);
  brimful_status status = BRIMFUL_OK;
  paint(bytes, 0, (size_t)body->bytes);
  for (uint64_t at = 0; at < body->bytes && status == BRIMFUL_OK;) {
    size_t piece = next_piece(&seed, body->bytes - at), taken = 0;
    status = brimful_collector_write(collector, bytes + at, piece, takes ? &taken : NULL);
    at += piece;
    if (takes && status == BRIMFUL_OK && taken < piece)
      break; /* the rest is the next body's */
  }
  free(bytes);
  return status == BRIMFUL_OK ? brimful_collector_end(collector) : status;
}

static brimful_status feed_window(brimful_collector *collector, const struct body *body)
{
  unsigned seed = body->seed;
  uint64_t at = 0;
  brimful_status status;
  while ((status = brimful_collector_is_complete(collector)) == 0 && at < body->bytes) {
    size_t piece = next_piece(&seed, body->bytes - at), room;
    void *window;
    status = brimful_collector_reserve(collector, piece, &window, &room);
    if (status != BRIMFUL_OK)
      return status;
    piece = piece < room ? piece : room;
    paint(window, at, piece);
    at += piece;
    status = brimful_collector_commit(collector, piece);
    if (status != BRIMFUL_OK)
      return status;
  }
  return status < 0 ? status : brimful_collector_end(collector);
}

/* Writes a piece into a socket only after the reader has said that it has nothing. */
static brimful_status feed_fd(brimful_collector *collector, const struct body *body)
{
  unsigned seed = body->seed;
  static unsigned char bytes[100000];
  uint64_t at = 0;
  int ends[2];
  brimful_status status;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ||
      fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
    abort();
  for (;;) {
    status = brimful_collector_read_fd(collector, ends[0]);
    if (status != BRIMFUL_PENDING && status != BRIMFUL_MORE)
      break;
    if (status == BRIMFUL_MORE)
      continue;
    if (at == body->bytes) {
      shutdown(ends[1], SHUT_WR);
      continue;
    }
    size_t piece = next_piece(&seed, body->bytes - at);
    piece = piece < sizeof bytes ? piece : sizeof bytes;
    paint(bytes, at, piece);
    ssize_t written = write(ends[1], bytes, piece);
    if (written < 0)
      abort();
    at += (uint64_t)written;
  }
  close(ends[0]);
  close(ends[1]);
  return status;
}

static int is_untouched(const unsigned char *bytes, size_t length)
{
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] != UNTOUCHED)
      return 0;
  }
  return 1;
}

/* Runs one cell, checks its bytes, and says what came of it. */
static struct outcome run(const struct body *body, enum drive drive, enum result result)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct outcome outcome = { 0, 0, 0 };
  unsigned char *memory = NULL, *target = NULL;
  brimful_collector *collector;
  brimful_buffer *buffer = NULL;
  void *data;
  size_t length;
  int good = 1;
  options.length = body->length;
  options.size_hint = body->hint;
  options.limit = body->limit;
  options.end = body->end;
  options.flags = body->flags;
  options.max_step = body->max_step;
  options.prefer = result == EXACT ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  if (result == INTO) {
    memory = malloc(body->capacity + 2 * GUARD);
    memset(memory, UNTOUCHED, body->capacity + 2 * GUARD);
    target = memory + GUARD;
    outcome.status = brimful_collector_new_into(&options, target, body->capacity, &collector);
  } else {
    outcome.status = brimful_collector_new(NULL, &options, &collector);
  }
  if (outcome.status != BRIMFUL_OK)
    abort();
  switch (drive) {
  case PULL:
    outcome.status = feed_pull(collector, body);
    break;
  case WINDOW:
    outcome.status = feed_window(collector, body);
    break;
  case FD:
    outcome.status = feed_fd(collector, body);
    break;
  default:
    outcome.status = feed_push(collector, body, drive == PUSH_TAKEN);
  }
  outcome.length = info_of(collector).length;
  outcome.truncated = info_of(collector).truncated;
  if (result == INTO)
    good = is_painted(target, 0, (size_t)outcome.length);
  if (outcome.status == BRIMFUL_OK && result == EXACT) {
    good = brimful_collector_finish_exact(collector, &data, &length) == BRIMFUL_OK && length == outcome.length &&
           is_painted(data, 0, length);
    free(data);
  } else {
    good = good && (outcome.status == BRIMFUL_OK ? brimful_collector_finish(collector, &buffer)
                                                 : brimful_collector_take_partial(collector, &buffer)) == BRIMFUL_OK;
    good = good && buffer_is_painted(buffer, outcome.length);
    brimful_buffer_release(buffer);
  }
  brimful_collector_free(collector);
  if (result == INTO) {
    good = good && is_untouched(memory, GUARD) &&
           is_untouched(target + outcome.length, body->capacity - (size_t)outcome.length + GUARD);
    free(memory);
  }
  if (!good)
    outcome.status = 12345; /* no status, so that the cell is reported */
  return outcome;
}

/* Every drive and result against the model; says the first that differs. */
static int all_are_as_the_model_says(const struct body *body)
{
  for (int drive = 0; drive < DRIVES; drive++) {
    for (int result = 0; result < RESULTS; result++) {
      struct outcome expected = model(body, drive, result), came = run(body, drive, result);
      if (came.status == expected.status && came.length == expected.length && came.truncated == expected.truncated)
        continue;
      printf("  %s, %s: %llu bytes, length %lld, hint %lld, limit %lld, end %u, flags %u, step %llu, capacity %zu, seed "
             "%u:\n  expected %s with %llu bytes, came %s with %llu (unknown: other bytes)\n",
             drive_names[drive], result_names[result], (unsigned long long)body->bytes, (long long)body->length,
             (long long)body->hint, (long long)body->limit, body->end, body->flags, (unsigned long long)body->max_step,
             body->capacity, body->seed, brimful_status_name(expected.status), (unsigned long long)expected.length,
             brimful_status_name(came.status), (unsigned long long)came.length);
      return 0;
    }
  }
  return 1;
}

TEST(the_same_bytes_give_one_outcome_for_each_drive_result_announcement_and_limit)
{
  static const uint64_t sizes[] = { 1, 2, 100, 4096, 16384, 16385, 70000, 300000 };
  for (size_t i = 0; i < ARRAY_LENGTH(sizes) - 2 * (size_t)check_under_tool(); i++) {
    uint64_t n = sizes[i];
    const uint64_t limits[] = { NONE, 0, n - 1, n, n + 1 };
    for (size_t l = 0; l < ARRAY_LENGTH(limits); l++) {
      for (int announced = 0; announced < 4; announced++) {
        for (unsigned seed = 0; seed < 2; seed++) {
          struct body body = { n, NONE, NONE, limits[l], BRIMFUL_END_LENGTH, 0, 0, (size_t)n + 50, seed };
          if (announced == 1)
            body.hint = n;
          if (announced >= 2)
            body.length = n;
          body.end = announced == 3 ? BRIMFUL_END_EOF : BRIMFUL_END_LENGTH;
          REQUIRE(all_are_as_the_model_says(&body));
        }
      }
    }
  }
}

TEST(every_body_of_up_to_eight_bytes_gives_the_model_s_outcome_with_every_length_limit_and_capacity)
{
  for (uint64_t n = 0; n <= 8; n++) {
    for (uint64_t e = 0; e <= 9; e += 1 + 2 * (uint64_t)check_under_tool()) {
      for (uint64_t l = 0; l <= 9; l++) {
        struct body body = { n, e == 9 ? NONE : e, NONE, l == 9 ? NONE : l, (uint32_t)(n + l) % 2, (uint32_t)(e + l) % 2,
                             0, (size_t)((n * 7 + e * 3 + l) % 10), (unsigned)(n * 100 + e * 10 + l) };
        REQUIRE(all_are_as_the_model_says(&body));
      }
    }
  }
}

TEST(random_bodies_cut_and_stopped_anywhere_give_the_model_s_outcome)
{
  unsigned seed = 20261130;
  unsigned rounds = check_under_tool() ? 15 : 600;
  for (unsigned i = 0; i < rounds; i++) {
    uint64_t n = random_below(&seed, (uint64_t)1 << random_below(&seed, 19));
    uint64_t around[] = { NONE, n, n + random_below(&seed, 3), n - random_below(&seed, n < 3 ? n + 1 : 3),
                          random_below(&seed, n + 10) };
    struct body body = { n, around[random_below(&seed, 5)], around[random_below(&seed, 5)],
                         around[random_below(&seed, 5)], (uint32_t)random_below(&seed, 2),
                         (uint32_t)random_below(&seed, 4), random_below(&seed, 2) == 0 ? 0 : 1 + random_below(&seed, n + 10),
                         (size_t)(random_below(&seed, 3) == 0 ? random_below(&seed, n + 10) : n + 10), 1 + i };
    REQUIRE(all_are_as_the_model_says(&body));
  }
}
