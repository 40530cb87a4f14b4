/*
 * Collectors, buffers and pools in any order of calls, against a model that is a count of bytes: what a body may be told,
 * which bytes it has, and that nothing is left in the end (E16, E25, E28, E30, E36 to E40, E47).
 */
#include "script.h"

#include <brimful.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOLS = 2, COLLECTORS = 3, BUFFERS = 6, LARGEST = (1 << 20) + 16 };

/* A collector and what it must be. */
struct body {
  brimful_collector *collector;
  brimful_options options;
  unsigned seed;
  int pool;
  uint64_t arrived; /* what the body has */
  brimful_status failed;
  int state; /* BRIMFUL_STATE_... */
  int truncated;
  size_t room;
  uint8_t *window, *target; /* target: of a collector into the caller's memory */
  size_t capacity;
};

struct shown {
  brimful_buffer *buffer;
  unsigned seed;
  uint64_t at;
  size_t length;
};

static struct script script;
static brimful_pool *pools[POOLS];
static struct body bodies[COLLECTORS];
static struct shown shown[BUFFERS];
static unsigned seeds;
static int traced; /* each call and what came of it is told, for a look at an input that fails */
static uint8_t memory[LARGEST];

/* ---- the model */

static uint64_t most_of(const struct body *body)
{
  uint64_t most = body->options.length < body->options.limit ? body->options.length : body->options.limit;
  return body->target != NULL && body->capacity < most ? body->capacity : most;
}

static int is_refused(const struct body *body)
{
  uint64_t limit = body->target != NULL && body->capacity < body->options.limit ? body->capacity : body->options.limit;
  return body->options.length != BRIMFUL_UNKNOWN && body->options.length > limit;
}

static int has_length(const struct body *body)
{
  return body->options.length != BRIMFUL_UNKNOWN;
}

static brimful_status fail(struct body *body, brimful_status status)
{
  body->state = BRIMFUL_STATE_FAILED;
  return body->failed = status;
}

/* A body that announces too much has failed (E14); one that has all it wants is complete without a further call (E1). */
static void settle(struct body *body)
{
  if (body->state == BRIMFUL_STATE_OPEN && is_refused(body)) {
    body->state = BRIMFUL_STATE_FAILED;
    body->failed = BRIMFUL_ERR_LIMIT;
  }
  if (body->state == BRIMFUL_STATE_OPEN && has_length(body) && body->options.end == BRIMFUL_END_LENGTH &&
      body->arrived == body->options.length)
    body->state = BRIMFUL_STATE_COMPLETE;
}

/* The body is told so many more bytes; `surplus_is_seen`: those beyond its length are delivered and not left alone. */
static brimful_status told(struct body *body, uint64_t bytes)
{
  uint64_t most = most_of(body), left = most - body->arrived;
  int by_length = has_length(body) && body->options.length == most;
  if (bytes <= left) {
    body->arrived += bytes;
    settle(body);
    return BRIMFUL_OK;
  }
  body->arrived = most;
  if (by_length)
    return fail(body, BRIMFUL_ERR_LONG);
  if (body->options.flags & BRIMFUL_TRUNCATE) {
    body->state = BRIMFUL_STATE_COMPLETE;
    body->truncated = 1;
    return BRIMFUL_OK;
  }
  return fail(body, BRIMFUL_ERR_LIMIT);
}

static brimful_status ended(struct body *body)
{
  if (has_length(body) && body->arrived < body->options.length)
    return fail(body, BRIMFUL_ERR_SHORT);
  body->state = BRIMFUL_STATE_COMPLETE;
  return BRIMFUL_OK;
}

/* Memory may be refused by a budget at any call; then nothing has changed (E30), which the checks behind it see. */
static int is_refusal(const struct body *body, brimful_status status)
{
  return status == BRIMFUL_ERR_BUDGET && body->pool == 1;
}

/* ---- looking at what there is */

static void check_body(struct body *body)
{
  brimful_info info = { .struct_size = sizeof info };
  static brimful_slice slices[4096];
  uint64_t at = 0;
  uint8_t few[5];
  size_t count;
  if (body->collector == NULL)
    return;
  MUST(brimful_collector_info(body->collector, &info) == BRIMFUL_OK);
  if (traced)
    fprintf(stderr, "  came: state %d, status %d, %llu bytes; expected: state %d, status %d, %llu bytes\n", info.state,
            info.status, (unsigned long long)info.length, body->state, body->failed, (unsigned long long)body->arrived);
  MUST(info.state == body->state);
  MUST(info.status == body->failed && info.truncated == body->truncated);
  if (body->state == BRIMFUL_STATE_TAKEN)
    return;
  MUST(info.length == body->arrived);
  MUST(info.received >= info.length);
  count = brimful_collector_segments(body->collector, 0, slices, 4096);
  for (size_t i = 0; i < count; i++) {
    must_be_painted(body->seed, at, slices[i].data, slices[i].length);
    at += slices[i].length;
  }
  MUST(at == body->arrived);
  count = brimful_collector_copy(body->collector, at / 2, few, sizeof few);
  MUST(count == (at - at / 2 < sizeof few ? at - at / 2 : sizeof few));
  must_be_painted(body->seed, at / 2, few, count);
}

static void check_buffer(const struct shown *one)
{
  static brimful_slice slices[4096];
  uint64_t at = one->at;
  size_t count;
  if (one->buffer == NULL)
    return;
  MUST(brimful_buffer_length(one->buffer) == one->length);
  count = brimful_buffer_segments(one->buffer, 0, slices, 4096);
  MUST(count == brimful_buffer_segment_count(one->buffer));
  for (size_t i = 0; i < count; i++) {
    must_be_painted(one->seed, at, slices[i].data, slices[i].length);
    at += slices[i].length;
  }
  MUST(at == one->at + one->length);
}

static void check_pool(int index, int nothing_is_out)
{
  brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
  MUST(brimful_pool_stats(pools[index], &statistics) == BRIMFUL_OK);
  MUST(statistics.allocated_bytes - statistics.freed_bytes == statistics.outstanding_bytes + statistics.retained_bytes);
  MUST(statistics.rented - statistics.released == statistics.outstanding);
  if (nothing_is_out)
    MUST(statistics.outstanding == 0 && statistics.outstanding_bytes == 0);
}

/* ---- the calls */

static struct shown *free_place(void)
{
  for (int i = 0; i < BUFFERS; i++)
    if (shown[i].buffer == NULL)
      return &shown[i];
  brimful_buffer_release(shown[0].buffer);
  shown[0].buffer = NULL;
  return &shown[0];
}

static void choose_options(struct body *body)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  uint8_t choice = next_byte(&script);
  if (choice & 1)
    options.length = next_length(&script);
  if (choice & 2)
    options.limit = next_length(&script);
  if (choice & 4)
    options.size_hint = next_byte(&script) < 250 ? next_length(&script) : UINT64_MAX - 1;
  if (choice & 8)
    options.flags |= BRIMFUL_TRUNCATE;
  if (choice & 16)
    options.prefer = BRIMFUL_PREFER_EXACT;
  if (choice & 32)
    options.first_block = 4096u << (next_byte(&script) % 8);
  if (choice & 64)
    options.padding = next_byte(&script);
  if (choice & 128) {
    options.end = BRIMFUL_END_EOF;
    options.max_window = 4096u << (next_byte(&script) % 8);
    options.max_prealloc = next_length(&script);
    options.max_step = next_length(&script);
  }
  body->options = options;
}

static void begin(struct body *body)
{
  body->seed = ++seeds;
  body->arrived = 0;
  body->failed = BRIMFUL_OK;
  body->truncated = 0;
  body->state = BRIMFUL_STATE_OPEN;
  settle(body);
}

static void drop(struct body *body)
{
  brimful_collector_free(body->collector);
  if (body->target != NULL) {
    uint64_t inside = body->arrived < body->capacity ? body->arrived : body->capacity;
    must_be_painted(body->seed, 0, body->target, body->state == BRIMFUL_STATE_TAKEN ? 0 : inside);
    free(body->target);
  }
  memset(body, 0, sizeof *body);
}

static void make(struct body *body)
{
  brimful_status status;
  drop(body);
  body->pool = next_byte(&script) % POOLS;
  choose_options(body);
  if (next_byte(&script) % 4 == 0) {
    body->capacity = next_length(&script);
    body->target = malloc(body->capacity + 1);
    body->pool = 0;
    status = brimful_collector_new_into(&body->options, body->target, body->capacity, &body->collector);
  } else {
    status = brimful_collector_new(pools[body->pool], &body->options, &body->collector);
  }
  MUST(status == BRIMFUL_OK);
  begin(body);
}

/* What every feeding call answers before it looks at bytes; OK: it goes on. */
static brimful_status before(struct body *body)
{
  if (body->state == BRIMFUL_STATE_FAILED)
    return body->failed;
  if (body->state == BRIMFUL_STATE_TAKEN || body->state == BRIMFUL_STATE_WINDOW_OUT)
    return BRIMFUL_ERR_STATE;
  return BRIMFUL_OK;
}

static void push(struct body *body)
{
  size_t length = next_length(&script), taken = 12345;
  int takes = next_byte(&script) % 2;
  struct body old = *body;
  brimful_status expected = before(body), came;
  uint64_t most = most_of(body);
  paint(body->seed, body->arrived, memory, length);
  if (expected == BRIMFUL_OK && body->state == BRIMFUL_STATE_COMPLETE) {
    /* What is too much after a length, is ignored after a cut, and does not fit after an end. */
    if (length > 0 && has_length(body) && !takes)
      expected = fail(body, BRIMFUL_ERR_LONG);
    else if (length > 0 && !has_length(body) && !body->truncated)
      expected = BRIMFUL_ERR_STATE;
    MUST(brimful_collector_write(body->collector, memory, length, takes ? &taken : NULL) == expected);
    return;
  }
  if (expected == BRIMFUL_OK) {
    uint64_t left = most - body->arrived;
    int lacks = takes && has_length(body) && body->options.length == most && length > left;
    expected = told(body, lacks ? left : length);
  }
  came = brimful_collector_write(body->collector, memory, length, takes ? &taken : NULL);
  if (came != expected && is_refusal(body, came))
    *body = old;
  else
    MUST(came == expected);
}

/* A source that follows the script: so many bytes, then this. */
struct source {
  struct body *body;
  int calls;
};

static brimful_status answer(void *context, void *window, size_t room, size_t *filled)
{
  struct source *source = context;
  struct body *body = source->body;
  uint8_t choice = next_byte(&script);
  size_t length = next_length(&script);
  uint64_t most = most_of(body);
  brimful_status came = BRIMFUL_OK;
  MUST(room > 0 && *filled == 0);
  MUST(brimful_collector_write(body->collector, "x", 1, NULL) == BRIMFUL_ERR_BUSY);
  if (length > room)
    length = room;
  memset(window, 0xEE, room); /* all of it may be written to */
  paint(body->seed, body->arrived, window, length);
  *filled = length;
  source->calls++;
  if (choice % 8 == 1)
    came = BRIMFUL_PENDING;
  if (choice % 8 == 2)
    came = BRIMFUL_RETRY;
  if (choice % 8 == 3)
    came = -77;
  if (choice == 12) { /* a claim that cannot be: nothing of it counts (E23) */
    *filled = room + 1;
    fail(body, BRIMFUL_ERR_CONTRACT);
    return BRIMFUL_OK;
  }
  if (length > 0)
    told(body, length);
  if (body->state != BRIMFUL_STATE_OPEN)
    return came;
  if (came == BRIMFUL_OK && length == 0)
    ended(body);
  else if (came < 0)
    fail(body, BRIMFUL_ERR_SOURCE);
  MUST(body->arrived <= most);
  return came;
}

static void pull(struct body *body)
{
  struct source source = { body, 0 };
  brimful_status expected = before(body), came;
  if (expected != BRIMFUL_OK || body->state == BRIMFUL_STATE_COMPLETE) {
    came = brimful_collector_read(body->collector, answer, &source);
    MUST(came == expected && source.calls == 0);
    return;
  }
  came = brimful_collector_read(body->collector, answer, &source);
  if (body->state == BRIMFUL_STATE_COMPLETE)
    MUST(came == BRIMFUL_OK);
  else if (body->state == BRIMFUL_STATE_FAILED)
    MUST(came == body->failed);
  else
    MUST(came == BRIMFUL_PENDING || came == BRIMFUL_MORE || is_refusal(body, came));
}

static void end(struct body *body)
{
  brimful_status expected = before(body);
  if (expected == BRIMFUL_OK && body->state == BRIMFUL_STATE_OPEN)
    expected = ended(body);
  MUST(brimful_collector_end(body->collector) == expected);
}

static void reserve(struct body *body)
{
  brimful_status expected, came;
  void *window = NULL;
  size_t want = next_length(&script), room = 0;
  if (body->state == BRIMFUL_STATE_WINDOW_OUT) {
    MUST(brimful_collector_reserve(body->collector, want, &window, &room) == BRIMFUL_OK);
    MUST(window == body->window && room == body->room);
    return;
  }
  expected = before(body);
  if (body->state == BRIMFUL_STATE_COMPLETE)
    expected = BRIMFUL_ERR_STATE;
  came = brimful_collector_reserve(body->collector, want, &window, &room);
  if (is_refusal(body, came))
    return;
  MUST(came == expected || (came == BRIMFUL_ERR_STATE && has_length(body) && body->arrived == body->options.length));
  if (came != BRIMFUL_OK)
    return;
  MUST(window != NULL && room > 0);
  body->window = window;
  body->room = room;
  body->state = BRIMFUL_STATE_WINDOW_OUT;
  memset(window, 0xDD, room);
}

static void commit(struct body *body)
{
  size_t length = next_length(&script);
  brimful_status expected = BRIMFUL_ERR_STATE;
  if (body->state == BRIMFUL_STATE_WINDOW_OUT) {
    body->state = BRIMFUL_STATE_OPEN;
    if (length > body->room) {
      expected = fail(body, BRIMFUL_ERR_CONTRACT);
    } else {
      paint(body->seed, body->arrived, body->window, length);
      expected = told(body, length);
    }
  } else if (body->state == BRIMFUL_STATE_FAILED) {
    expected = body->failed;
  }
  MUST(brimful_collector_commit(body->collector, length) == expected);
}

static void keep(struct body *body, brimful_buffer *buffer)
{
  struct shown *place = free_place();
  *place = (struct shown){ buffer, body->seed, 0, (size_t)body->arrived };
  check_buffer(place);
}

static void finish(struct body *body, int which)
{
  brimful_status expected = BRIMFUL_OK, came;
  brimful_buffer *buffer = NULL;
  void *data = NULL;
  size_t length = 0;
  if (body->state == BRIMFUL_STATE_FAILED && which != 2)
    expected = body->failed;
  else if (body->state == BRIMFUL_STATE_WINDOW_OUT || body->state == BRIMFUL_STATE_TAKEN ||
           (body->state == BRIMFUL_STATE_OPEN && which != 2))
    expected = BRIMFUL_ERR_STATE;
  if (which == 0)
    came = brimful_collector_finish(body->collector, &buffer);
  else if (which == 1)
    came = brimful_collector_finish_exact(body->collector, &data, &length);
  else
    came = brimful_collector_take_partial(body->collector, &buffer);
  if (came == BRIMFUL_ERR_BUDGET && (body->target != NULL || is_refusal(body, came)))
    return;
  MUST(came == expected);
  if (came != BRIMFUL_OK)
    return;
  body->state = BRIMFUL_STATE_TAKEN;
  if (which == 1) {
    MUST(length == body->arrived && data != NULL);
    must_be_painted(body->seed, 0, data, length);
    for (size_t i = 0; body->target == NULL && i < body->options.padding; i++)
      MUST(((uint8_t *)data)[length + i] == 0);
    brimful_memory_free(data);
  } else {
    keep(body, buffer);
  }
}

static void reset(struct body *body)
{
  uint64_t inside = body->arrived;
  if (body->target != NULL && body->state != BRIMFUL_STATE_TAKEN)
    must_be_painted(body->seed, 0, body->target, (size_t)inside);
  if (next_byte(&script) % 2 == 0) {
    MUST(brimful_collector_reset(body->collector, NULL) == BRIMFUL_OK);
  } else {
    choose_options(body);
    MUST(brimful_collector_reset(body->collector, &body->options) == BRIMFUL_OK);
  }
  begin(body);
}

/* A body in one go, so that buffers are not rare; without one where the budget has no room for it. */
static void fill_place(struct shown *one, int pool)
{
  brimful_collector *collector;
  *one = (struct shown){ NULL, ++seeds, 0, next_length(&script) };
  paint(one->seed, 0, memory, one->length);
  MUST(brimful_collector_new(pools[pool], NULL, &collector) == BRIMFUL_OK);
  if (brimful_collector_write(collector, memory, one->length, NULL) == BRIMFUL_OK) {
    MUST(brimful_collector_end(collector) == BRIMFUL_OK);
    MUST(brimful_collector_finish(collector, &one->buffer) == BRIMFUL_OK);
  }
  brimful_collector_free(collector);
}

static void use_buffer(struct shown *one)
{
  uint8_t choice = next_byte(&script);
  brimful_buffer *slice = NULL;
  const void *bytes = NULL;
  brimful_status came;
  void *data = NULL;
  size_t length = 0, at, count;
  if (one->buffer == NULL) {
    fill_place(one, choice % POOLS);
    return;
  }
  switch (choice % 6) {
  case 0:
    brimful_buffer_release(one->buffer);
    one->buffer = NULL;
    return;
  case 1:
    /* Mostly within. */
    at = one->length * next_byte(&script) / 250;
    count = (at > one->length ? 1 : one->length - at) * next_byte(&script) / 250;
    came = brimful_buffer_slice(one->buffer, at, count, &slice);
    MUST((came == BRIMFUL_OK) == (at <= one->length && count <= one->length - at));
    if (came == BRIMFUL_OK) {
      struct shown cut = { slice, one->seed, one->at + at, count };
      *free_place() = cut;
    } else {
      MUST(came == BRIMFUL_ERR_INVALID && slice == NULL);
    }
    return;
  case 2:
    came = brimful_buffer_data(one->buffer, &bytes, &length);
    MUST(came == BRIMFUL_OK || came == BRIMFUL_ERR_BUDGET);
    if (came == BRIMFUL_OK) {
      MUST(length == one->length && bytes != NULL);
      must_be_painted(one->seed, one->at, bytes, length);
    }
    return;
  case 3:
    came = brimful_buffer_detach(one->buffer);
    MUST(came == BRIMFUL_OK || came == BRIMFUL_ERR_BUDGET);
    return;
  case 4:
    MUST(brimful_buffer_to_exact(one->buffer, NULL, &data, &length) == BRIMFUL_OK);
    MUST(length == one->length);
    must_be_painted(one->seed, one->at, data, length);
    brimful_memory_free(data);
    return;
  default:
    MUST(brimful_buffer_retain(one->buffer) == one->buffer);
    brimful_buffer_release(one->buffer);
  }
}

static void step(void)
{
  static const char *const names[] = { "push",   "push",  "pull", "pull", "end",  "reserve", "commit", "finish",
                                       "reset",  "drop",  "make", "trim", "use",  "use",     "use",    "use" };
  uint8_t choice = next_byte(&script);
  struct body *body = &bodies[(choice >> 4) % COLLECTORS];
  unsigned call = choice % 16;
  if (body->collector == NULL && call < 10)
    call = 10;
  if (traced)
    fprintf(stderr, "%s of %d\n", names[call], (choice >> 4) % COLLECTORS);
  switch (call) {
  case 0:
  case 1:
    push(body);
    break;
  case 2:
  case 3:
    pull(body);
    break;
  case 4:
    end(body);
    break;
  case 5:
    reserve(body);
    break;
  case 6:
    commit(body);
    break;
  case 7:
    finish(body, next_byte(&script) % 3);
    break;
  case 8:
    reset(body);
    break;
  case 9:
    drop(body);
    break;
  case 10:
    make(body);
    break;
  case 11:
    brimful_pool_trim(pools[(choice >> 4) % POOLS], next_length(&script));
    break;
  default:
    use_buffer(&shown[(choice >> 4) % BUFFERS]);
  }
  check_body(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
  script = (struct script){ bytes, length };
  seeds = 0;
  traced = getenv("FUZZ_TRACE") != NULL;
  for (int i = 0; i < POOLS; i++) {
    brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
    options.max_retained = 256u << 10;
    options.flags = i == 1 ? BRIMFUL_POOL_LIST : 0;
    options.budget = i == 1 ? 4u << 20 : BRIMFUL_UNLIMITED;
    MUST(brimful_pool_new(&options, &pools[i]) == BRIMFUL_OK);
  }
  for (int steps = 0; script.length > 0 && steps < 200; steps++)
    step();
  for (int i = 0; i < BUFFERS; i++) {
    check_buffer(&shown[i]);
    brimful_buffer_release(shown[i].buffer);
    shown[i].buffer = NULL;
  }
  for (int i = 0; i < COLLECTORS; i++)
    drop(&bodies[i]);
  for (int i = 0; i < POOLS; i++) {
    check_pool(i, 1);
    brimful_pool_release(pools[i]);
  }
  return 0;
}
