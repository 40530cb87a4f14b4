/*
 * The library's own numbers against what the interposer saw from outside, in ten scenarios: allocations agree exactly,
 * copied bytes within 1 %. Fresh pools, so that nothing is recycled that was counted before.
 */
#include "check.h"
#include "interpose.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

enum drive { PULL, PUSH, WINDOW };

struct scenario {
  uint64_t length;
  uint64_t announced;      /* BRIMFUL_UNKNOWN: not */
  uint64_t hint;           /* likewise */
  uint64_t limit;          /* likewise; below the length, the body ends with `limit` and its partial is taken */
  uint32_t prefer;
  uint32_t flags;          /* of the pool */
  enum drive drive;
  size_t each;             /* bytes of an answer, a push or a commit */
  size_t pend_every;
};

#define NONE BRIMFUL_UNKNOWN

static brimful_status drive_through(brimful_collector *collector, const struct scenario *scenario, const char *body)
{
  struct source source = SOURCE(scenario->length);
  brimful_status status = BRIMFUL_OK;
  void *window;
  size_t room;
  source.each = scenario->each;
  source.pend_every = scenario->pend_every;
  if (scenario->drive == PULL) {
    while ((status = brimful_collector_read(collector, source_read, &source)) == BRIMFUL_PENDING)
      ;
    return status;
  }
  while (status == BRIMFUL_OK && source.given < scenario->length && !brimful_collector_is_complete(collector)) {
    size_t piece = scenario->each;
    if (piece > scenario->length - source.given)
      piece = (size_t)(scenario->length - source.given);
    if (scenario->drive == PUSH) {
      status = brimful_collector_write(collector, body + source.given, piece, NULL);
    } else {
      status = brimful_collector_reserve(collector, piece, &window, &room);
      if (status != BRIMFUL_OK)
        return status;
      piece = room < piece ? room : piece;
      paint(window, source.given, piece);
      status = brimful_collector_commit(collector, piece);
    }
    source.given += piece;
  }
  return status == BRIMFUL_OK ? brimful_collector_end(collector) : status;
}

/* Bytes of pushes that landed by a copy that the interposer counts. Landing is not `copied`. */
static uint64_t landed_by_copy(const struct scenario *scenario)
{
  uint64_t last;
  if (scenario->drive != PUSH || scenario->each < 4096)
    return 0;
  last = scenario->length % scenario->each;
  return scenario->length - (last < 4096 ? last : 0);
}

static void agree(struct scenario scenario)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct interpose_counts before, after;
  brimful_collector *collector;
  brimful_buffer *buffer = NULL;
  brimful_status status;
  brimful_info info;
  void *data = NULL;
  size_t size = 0;
  uint64_t seen, copied;
  if (interpose_read == NULL)
    SKIP("needs the interposer");
  char *body = malloc(scenario.length + 1);
  brimful_pool *pool = new_pool(scenario.flags);
  paint(body, 0, scenario.length);
  options.length = scenario.announced;
  options.size_hint = scenario.hint;
  options.limit = scenario.limit;
  options.prefer = scenario.prefer;

  interpose_read(&before);
  REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
  status = drive_through(collector, &scenario, body);
  if (status == BRIMFUL_OK && scenario.prefer == BRIMFUL_PREFER_EXACT)
    STATUS(brimful_collector_finish_exact(collector, &data, &size), BRIMFUL_OK);
  else
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
  interpose_read(&after);

  info = info_of(collector);
  STATUS(status, scenario.limit < scenario.length ? BRIMFUL_ERR_LIMIT : BRIMFUL_OK);
  if (data != NULL)
    CHECK(size == scenario.length && is_painted(data, 0, size));
  else
    CHECK(buffer_is_painted(buffer, scenario.limit < scenario.length ? scenario.limit : scenario.length));
  SAME(info.allocations, after.allocations - before.allocations);
  seen = after.copied_bytes - before.copied_bytes;
  copied = info.copied + landed_by_copy(&scenario);
  if (seen > copied + copied / 100 || copied > seen + seen / 100)
    SAME(copied, seen);
  free(data);
  free(body);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
  brimful_pool_release(pool);
}

TEST(seen_from_outside__unknown_length_pooled_pulled)
{
  agree((struct scenario){ 20 * MIB + 5, NONE, NONE, NONE, BRIMFUL_PREFER_POOLED, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__unknown_length_exact_pulled)
{
  agree((struct scenario){ 20 * MIB + 5, NONE, NONE, NONE, BRIMFUL_PREFER_EXACT, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__known_length_pooled_pulled)
{
  agree((struct scenario){ 10 * MIB, 10 * MIB, NONE, NONE, BRIMFUL_PREFER_POOLED, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__known_length_exact_pulled)
{
  agree((struct scenario){ 10 * MIB, 10 * MIB, NONE, NONE, BRIMFUL_PREFER_EXACT, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__known_length_above_16_MiB_exact_staged)
{
  agree((struct scenario){ 40 * MIB, 40 * MIB, NONE, NONE, BRIMFUL_PREFER_EXACT, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__unknown_length_pooled_pushed)
{
  agree((struct scenario){ 5 * MIB, NONE, NONE, NONE, BRIMFUL_PREFER_POOLED, 0, PUSH, 8192, 0 });
}

TEST(seen_from_outside__unknown_length_exact_by_windows)
{
  agree((struct scenario){ 5 * MIB, NONE, NONE, NONE, BRIMFUL_PREFER_EXACT, 0, WINDOW, 10000, 0 });
}

TEST(seen_from_outside__suspended_656_times)
{
  agree((struct scenario){ 656 * 8000, NONE, NONE, NONE, BRIMFUL_PREFER_POOLED, 0, PULL, 0, 8000 });
}

TEST(seen_from_outside__unknown_length_in_a_list_of_blocks)
{
  agree((struct scenario){ 20 * MIB + 5, NONE, NONE, NONE, BRIMFUL_PREFER_POOLED, BRIMFUL_POOL_LIST, PULL, 65536, 0 });
}

TEST(seen_from_outside__unknown_length_exact_from_a_list_of_blocks)
{
  agree((struct scenario){ 3 * MIB + 5, NONE, NONE, NONE, BRIMFUL_PREFER_EXACT, BRIMFUL_POOL_LIST, PULL, 65536, 0 });
}

TEST(seen_from_outside__above_its_limit_with_a_partial)
{
  agree((struct scenario){ MIB, NONE, NONE, 700000, BRIMFUL_PREFER_POOLED, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__a_hint_that_is_too_small)
{
  agree((struct scenario){ 3 * MIB, NONE, MIB, NONE, BRIMFUL_PREFER_EXACT, 0, PULL, 65536, 0 });
}

TEST(seen_from_outside__a_hint_that_is_too_big)
{
  agree((struct scenario){ MIB, NONE, 8 * MIB, NONE, BRIMFUL_PREFER_POOLED, BRIMFUL_POOL_LIST, PULL, 65536, 0 });
}

TEST(a_small_body_in_one_call_asks_for_memory_once_when_the_pool_is_warm)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  if (interpose_fail == NULL)
    SKIP("needs the interposer");
  for (int i = 0; i < 3; i++) { /* the first one warms the pool up */
    struct source source = SOURCE(100);
    brimful_collector *rest;
    brimful_buffer *buffer;
    uint64_t pooled, exact;
    void *data;
    size_t length;
    interpose_fail(0, 0);
    STATUS(brimful_collect(NULL, NULL, source_read, &source, &buffer, &rest), BRIMFUL_OK);
    pooled = interpose_fail(0, 0);
    brimful_buffer_release(buffer);
    options.length = 100;
    source.given = 0;
    interpose_fail(0, 0);
    STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, &rest), BRIMFUL_OK);
    exact = interpose_fail(0, 0);
    free(data);
    if (i > 0) {
      SAME(pooled, 0); /* the handle lies where the last one lay */
      SAME(exact, 1);  /* the result */
    }
  }
}
