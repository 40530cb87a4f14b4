/* What every call does in every state of a collector; from inside a callback: test_callback.c. */
#include "check.h"
#include "source.h"

#include <stdlib.h>

enum state { OPEN, WINDOW_OUT, COMPLETE, COMPLETE_WITH_LENGTH, COMPLETE_TRUNCATED, FAILED, TAKEN, STATES };

/* A collector in this state that has had 10 bytes. */
static brimful_collector *in_state(enum state state)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  unsigned char body[11];
  brimful_buffer *buffer;
  void *window;
  size_t room;
  paint(body, 0, sizeof body);
  if (state == COMPLETE_WITH_LENGTH)
    options.length = 10;
  if (state == COMPLETE_TRUNCATED || state == FAILED)
    options.limit = 10;
  if (state == COMPLETE_TRUNCATED)
    options.flags = BRIMFUL_TRUNCATE;
  if (brimful_collector_new(NULL, &options, &collector) != BRIMFUL_OK)
    abort();
  if (state == COMPLETE_TRUNCATED || state == FAILED)
    STATUS(brimful_collector_write(collector, body, 11, NULL), state == FAILED ? BRIMFUL_ERR_LIMIT : BRIMFUL_OK);
  else
    STATUS(brimful_collector_write(collector, body, 10, NULL), BRIMFUL_OK);
  if (state == COMPLETE || state == TAKEN)
    STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  if (state == WINDOW_OUT)
    STATUS(brimful_collector_reserve(collector, 100, &window, &room), BRIMFUL_OK);
  if (state == TAKEN) {
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    brimful_buffer_release(buffer);
  }
  return collector;
}

#define OK BRIMFUL_OK
#define WRONG BRIMFUL_ERR_STATE
#define OVER BRIMFUL_ERR_LIMIT
#define LONG BRIMFUL_ERR_LONG

/* open, window out, complete, complete with a length, complete and truncated, failed(limit), taken */
static const struct {
  const char *call;
  brimful_status expected[STATES];
} table[] = {
  { "read", { OK, WRONG, OK, OK, OK, OVER, WRONG } },
  { "write", { OK, WRONG, WRONG, LONG, OK, OVER, WRONG } },
  { "write, taken", { OK, WRONG, WRONG, OK, OK, OVER, WRONG } },
  { "end", { OK, WRONG, OK, OK, OK, OVER, WRONG } },
  { "reserve", { OK, OK, WRONG, WRONG, WRONG, OVER, WRONG } },
  { "commit", { WRONG, OK, WRONG, WRONG, WRONG, OVER, WRONG } },
  { "finish", { WRONG, WRONG, OK, OK, OK, OVER, WRONG } },
  { "finish_exact", { WRONG, WRONG, OK, OK, OK, OVER, WRONG } },
  { "take_partial", { OK, WRONG, OK, OK, OK, OK, WRONG } },
  { "reset", { OK, OK, OK, OK, OK, OK, OK } },
  { "is_complete", { 0, 0, 1, 1, 1, OVER, 1 } },
  { "info", { OK, OK, OK, OK, OK, OK, OK } },
};

static brimful_status call(size_t which, brimful_collector *collector)
{
  struct source source = SOURCE(5);
  brimful_info info = { .struct_size = sizeof info };
  brimful_buffer *buffer = NULL;
  brimful_status status;
  void *data = NULL;
  size_t size = 1;
  switch (which) {
  case 0:
    return brimful_collector_read(collector, source_read, &source);
  case 1:
    return brimful_collector_write(collector, "x", 1, NULL);
  case 2:
    status = brimful_collector_write(collector, "x", 1, &size);
    SAME(size, status == BRIMFUL_OK && info_of(collector).state == BRIMFUL_STATE_OPEN ? 1 : size);
    return status;
  case 3:
    return brimful_collector_end(collector);
  case 4:
    status = brimful_collector_reserve(collector, 0, &data, &size);
    CHECK((status == BRIMFUL_OK) == (data != NULL) && (status == BRIMFUL_OK) == (size > 0));
    return status;
  case 5:
    return brimful_collector_commit(collector, 0);
  case 6:
  case 8:
    status = which == 6 ? brimful_collector_finish(collector, &buffer) : brimful_collector_take_partial(collector, &buffer);
    CHECK((status == BRIMFUL_OK) == (buffer != NULL));
    if (buffer != NULL)
      CHECK(buffer_is_painted(buffer, 10));
    brimful_buffer_release(buffer);
    return status;
  case 7:
    status = brimful_collector_finish_exact(collector, &data, &size);
    CHECK((status == BRIMFUL_OK) == (data != NULL));
    if (data != NULL)
      CHECK(size == 10 && is_painted(data, 0, 10));
    free(data);
    return status;
  case 9:
    return brimful_collector_reset(collector, NULL);
  case 10:
    return brimful_collector_is_complete(collector);
  default:
    return brimful_collector_info(collector, &info);
  }
}

TEST(every_call_does_in_every_state_what_the_table_says)
{
  for (size_t which = 0; which < ARRAY_LENGTH(table); which++) {
    for (enum state state = OPEN; state < STATES; state++) {
      brimful_collector *collector = in_state(state);
      brimful_status came = call(which, collector);
      check_status(table[which].call, (int)state, "in this state", came, table[which].expected[state]);
      brimful_collector_free(collector);
    }
  }
}

TEST(a_call_that_does_not_fit_changes_nothing)
{
  static const int32_t numbers[STATES] = { BRIMFUL_STATE_OPEN,     BRIMFUL_STATE_WINDOW_OUT, BRIMFUL_STATE_COMPLETE,
                                           BRIMFUL_STATE_COMPLETE, BRIMFUL_STATE_COMPLETE,   BRIMFUL_STATE_FAILED,
                                           BRIMFUL_STATE_TAKEN };
  for (size_t which = 0; which < ARRAY_LENGTH(table); which++) {
    for (enum state state = OPEN; state < STATES; state++) {
      brimful_collector *collector = in_state(state);
      SAME(info_of(collector).state, numbers[state]);
      if (table[which].expected[state] == BRIMFUL_ERR_STATE || table[which].expected[state] == BRIMFUL_ERR_LIMIT) {
        brimful_info before = info_of(collector);
        call(which, collector);
        brimful_info after = info_of(collector);
        SAME(after.state, before.state);
        SAME(after.length, before.length);
        SAME(after.received, before.received);
        SAME(after.status, before.status);
      }
      brimful_collector_free(collector);
    }
  }
}

TEST(what_has_arrived_can_be_looked_at_in_every_state_until_it_is_taken)
{
  for (enum state state = OPEN; state < STATES; state++) {
    brimful_collector *collector = in_state(state);
    unsigned char bytes[20];
    brimful_slice slice;
    size_t there = state == TAKEN ? 0 : 10;
    SAME(brimful_collector_copy(collector, 0, bytes, sizeof bytes), there);
    SAME(brimful_collector_copy(collector, 7, bytes, sizeof bytes), there > 0 ? 3 : 0);
    SAME(brimful_collector_segments(collector, 0, &slice, 1), there > 0 ? 1 : 0);
    if (there > 0)
      CHECK(is_painted(bytes, 7, 3) && slice.length == 10 && is_painted(slice.data, 0, 10));
    SAME(brimful_collector_segments(collector, 1, &slice, 1), 0);
    brimful_collector_free(collector);
  }
}

TEST(a_collector_that_was_reset_takes_the_next_body_from_every_state)
{
  for (enum state state = OPEN; state < STATES; state++) {
    brimful_collector *collector = in_state(state);
    struct source source = SOURCE(50000);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_buffer *buffer;
    STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
    SAME(info_of(collector).received, 0);
    SAME(info_of(collector).state, BRIMFUL_STATE_OPEN);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 50000));
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
  }
}
