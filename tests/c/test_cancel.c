/* Cancelling at awkward moments (E24; H9, H44). */
#include "check.h"
#include "source.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Triggers the cancel object from inside, together with what it answers. */
struct together {
  brimful_cancel *cancel;
  size_t bytes;
  brimful_status status;
  int calls;
};

static brimful_status cancels_and_answers(void *context, void *window, size_t room, size_t *filled)
{
  struct together *together = context;
  together->calls++;
  brimful_cancel_trigger(together->cancel);
  *filled = together->bytes < room ? together->bytes : room;
  paint(window, 0, *filled);
  return together->status;
}

TEST(bytes_completion_errors_and_the_end_come_before_a_cancel_of_the_same_moment_and_pending_after)
{
  static const struct {
    size_t bytes;
    brimful_status answer;
    uint64_t length, limit;
    brimful_status expected;
    uint64_t landed;
  } table[] = {
    { 0, BRIMFUL_OK, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_OK, 0 },       /* the end */
    { 10, BRIMFUL_OK, 10, BRIMFUL_UNLIMITED, BRIMFUL_OK, 10 },                  /* complete */
    { 10, BRIMFUL_PENDING, 10, BRIMFUL_UNLIMITED, BRIMFUL_OK, 10 },
    { 10, -5, 10, BRIMFUL_UNLIMITED, BRIMFUL_OK, 10 },
    { 10, BRIMFUL_OK, BRIMFUL_UNKNOWN, 9, BRIMFUL_ERR_LIMIT, 9 },
    { 0, BRIMFUL_OK, 11, BRIMFUL_UNLIMITED, BRIMFUL_ERR_SHORT, 0 },
    { 10, -5, 11, BRIMFUL_UNLIMITED, BRIMFUL_ERR_SOURCE, 10 },
    { 10, BRIMFUL_OK, 11, BRIMFUL_UNLIMITED, BRIMFUL_ERR_CANCELLED, 10 },
    { 10, BRIMFUL_RETRY, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_ERR_CANCELLED, 10 },
    { 10, BRIMFUL_PENDING, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_ERR_CANCELLED, 10 },
    { 0, BRIMFUL_PENDING, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_ERR_CANCELLED, 0 },
  };
  for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    struct together together = { NULL, table[i].bytes, table[i].answer, 0 };
    brimful_collector *collector;
    brimful_buffer *buffer;
    REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
    options.length = table[i].length;
    options.limit = table[i].limit;
    together.cancel = options.cancel;
    REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read(collector, cancels_and_answers, &together), table[i].expected);
    SAME(together.calls, 1);
    STATUS(brimful_collector_read(collector, cancels_and_answers, &together), table[i].expected); /* it stays so */
    SAME(together.calls, 1);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, table[i].landed));
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    brimful_cancel_release(options.cancel);
  }
}

TEST(a_cancel_after_a_reset_stops_the_new_body_and_a_collector_that_was_given_another_object_does_not_see_it)
{
  brimful_options first = BRIMFUL_OPTIONS_INIT, second = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer;
  REQUIRE(brimful_cancel_new(&first.cancel) == BRIMFUL_OK && brimful_cancel_new(&second.cancel) == BRIMFUL_OK);
  REQUIRE(brimful_collector_new(NULL, &first, &collector) == BRIMFUL_OK);
  struct source source = SOURCE(1000);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  brimful_cancel_trigger(first.cancel); /* after the end: the result is there */
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1000));
  brimful_buffer_release(buffer);

  source.given = source.calls = 0;
  STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK); /* the same object, which stays triggered */
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_ERR_CANCELLED);
  SAME(source.calls, 0);

  STATUS(brimful_collector_reset(collector, &second), BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  STATUS(brimful_collector_reset(collector, &second), BRIMFUL_OK);
  brimful_cancel_trigger(second.cancel);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_ERR_CANCELLED);
  /* writing does not look at it, so late data of a cancelled body is refused by the failure itself (H9) */
  STATUS(brimful_collector_write(collector, "late", 4, NULL), BRIMFUL_ERR_CANCELLED);
  brimful_cancel_release(first.cancel);
  STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, "", 1, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_end(collector), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1)); /* nothing of the late data */
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
  brimful_cancel_release(second.cancel);
}

static void *triggers(void *context)
{
  void **both = context;
  pthread_barrier_wait(both[1]);
  brimful_cancel_trigger(both[0]);
  brimful_cancel_release(both[0]);
  return NULL;
}

struct racing {
  struct source source;
  pthread_barrier_t *barrier;
};

static brimful_status ends_at_the_barrier(void *context, void *window, size_t room, size_t *filled)
{
  struct racing *racing = context;
  if (racing->source.given == racing->source.length)
    pthread_barrier_wait(racing->barrier);
  return source_read(&racing->source, window, room, filled);
}

TEST(a_body_s_end_and_a_cancel_at_the_same_moment_give_one_of_the_two_and_the_whole_body_in_both)
{
  unsigned cancelled = 0, rounds = check_under_tool() ? 20 : 300;
  for (unsigned i = 0; i < rounds; i++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    pthread_barrier_t barrier;
    struct racing racing = { SOURCE(3000), &barrier };
    brimful_collector *collector;
    brimful_buffer *buffer;
    brimful_status status;
    pthread_t thread;
    void *both[2];
    REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
    both[0] = brimful_cancel_retain(options.cancel);
    both[1] = &barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    REQUIRE(pthread_create(&thread, NULL, triggers, both) == 0);
    REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
    status = brimful_collector_read(collector, ends_at_the_barrier, &racing);
    CHECK(status == BRIMFUL_OK || status == BRIMFUL_ERR_CANCELLED);
    cancelled += status != BRIMFUL_OK;
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 3000));
    pthread_join(thread, NULL);
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    brimful_cancel_release(options.cancel);
    pthread_barrier_destroy(&barrier);
  }
  SAME(cancelled, 0); /* the end was answered: it comes first (E24) */
}
