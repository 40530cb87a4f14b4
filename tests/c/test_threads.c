/* What may be done from several threads. */
#include "check.h"
#include "source.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4

static void *holds_and_lets_go(void *context)
{
  brimful_buffer *buffer = context;
  for (int i = 0; i < 2000; i++) {
    brimful_buffer *mine = brimful_buffer_retain(buffer);
    if (i % 500 == 0)
      CHECK(mine == buffer && buffer_is_painted(mine, 200000));
    brimful_buffer_release(mine);
  }
  brimful_buffer_release(buffer); /* the hold that this thread was given */
  return NULL;
}

TEST(a_buffer_is_read_retained_and_released_on_many_threads_and_goes_with_its_last_hold)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
    brimful_pool *pool = new_pool(flags);
    struct source source = SOURCE(200000);
    brimful_buffer *buffer;
    pthread_t threads[THREADS];
    REQUIRE(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK);
    for (int i = 0; i < THREADS; i++)
      REQUIRE(pthread_create(&threads[i], NULL, holds_and_lets_go, brimful_buffer_retain(buffer)) == 0);
    brimful_buffer_release(buffer);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
    SAME(statistics.outstanding, 0);
    SAME(statistics.outstanding_bytes, 0);
    brimful_pool_release(pool);
  }
}

/* Gives a byte at a time for ever, and tells another thread when it has begun. */
struct endless {
  int begun;
  brimful_cancel *cancel;
};

static brimful_status gives_for_ever(void *context, void *window, size_t room, size_t *filled)
{
  struct endless *endless = context;
  (void)room;
  *(char *)window = 0;
  *filled = 1;
  __atomic_store_n(&endless->begun, 1, __ATOMIC_RELEASE);
  return BRIMFUL_OK;
}

static void *cancels(void *context)
{
  struct endless *endless = context;
  while (!__atomic_load_n(&endless->begun, __ATOMIC_ACQUIRE))
    usleep(100);
  brimful_cancel_trigger(endless->cancel);
  brimful_cancel_release(endless->cancel); /* this thread's hold */
  return NULL;
}

TEST(a_body_is_cancelled_from_another_thread_and_what_came_can_be_taken)
{
  struct endless endless = { 0, NULL };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer;
  pthread_t thread;
  REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
  REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
  endless.cancel = brimful_cancel_retain(options.cancel);
  CHECK(endless.cancel == options.cancel);
  brimful_cancel_release(options.cancel); /* the collector and the thread hold it */
  REQUIRE(pthread_create(&thread, NULL, cancels, &endless) == 0);
  STATUS(brimful_collector_read(collector, gives_for_ever, &endless), BRIMFUL_ERR_CANCELLED);
  pthread_join(thread, NULL);
  STATUS(brimful_collector_read(collector, gives_for_ever, &endless), BRIMFUL_ERR_CANCELLED);
  STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
  CHECK(brimful_buffer_length(buffer) > 0);
  SAME(brimful_buffer_length(buffer), info_of(collector).received);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

struct passed_on {
  brimful_collector *collector;
  struct source source;
  brimful_status status;
};

static void *goes_on(void *context)
{
  struct passed_on *body = context;
  body->status = brimful_collector_read(body->collector, source_read, &body->source);
  return NULL;
}

TEST(a_suspended_body_goes_on_on_another_thread)
{
  struct passed_on body = { NULL, SOURCE(100000), BRIMFUL_PENDING };
  brimful_buffer *buffer;
  REQUIRE(brimful_collector_new(NULL, NULL, &body.collector) == BRIMFUL_OK);
  body.source.pend_every = 9000;
  for (int i = 0; body.status == BRIMFUL_PENDING && i < 20; i++) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, goes_on, &body) == 0);
    pthread_join(thread, NULL);
  }
  STATUS(body.status, BRIMFUL_OK);
  STATUS(brimful_collector_finish(body.collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 100000));
  brimful_buffer_release(buffer);
  brimful_collector_free(body.collector);
}

static void *reads_bodies(void *context)
{
  brimful_pool *pool = context;
  for (unsigned i = 0; i < 300; i++) {
    uint64_t length = (uint64_t)(i * 7919 % 300) * (i % 3 == 0 ? 1000 : 10);
    struct source source = SOURCE(length);
    brimful_buffer *buffer;
    STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, length));
    brimful_buffer_release(buffer);
  }
  return NULL;
}

TEST(many_threads_share_a_pool_and_its_numbers_add_up_afterwards)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool_statistics s = { .struct_size = sizeof s };
    brimful_pool *pool = new_pool(flags);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
      REQUIRE(pthread_create(&threads[i], NULL, reads_bodies, pool) == 0);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    STATUS(brimful_pool_stats(pool, &s), BRIMFUL_OK);
    SAME(s.outstanding, 0);
    SAME(s.allocated - s.freed, s.retained);
    SAME(s.allocated_bytes - s.freed_bytes, s.retained_bytes);
    SAME(s.rented, s.released);
    brimful_pool_release(pool);
  }
}

/* Forks in the middle of a body; the child goes on as the parent does. */
struct forking {
  struct source source;
  pid_t child;
};

static brimful_status forks(void *context, void *window, size_t room, size_t *filled)
{
  struct forking *forking = context;
  if (forking->source.calls == 5)
    forking->child = fork();
  return source_read(&forking->source, window, room, filled);
}

TEST(a_child_that_is_forked_inside_a_callback_goes_on_with_body_and_pool)
{
  struct forking forking = { SOURCE(500000), -1 };
  brimful_pool *pool = new_pool(0);
  brimful_buffer *buffer;
  int status, whole;
  forking.source.each = 50000;
  STATUS(brimful_collect(pool, NULL, forks, &forking, &buffer, NULL), BRIMFUL_OK);
  whole = buffer_is_painted(buffer, 500000);
  brimful_buffer_release(buffer);
  if (forking.child == 0) {
    struct source again = SOURCE(500000);
    whole = whole && brimful_collect(pool, NULL, source_read, &again, &buffer, NULL) == BRIMFUL_OK &&
            buffer_is_painted(buffer, 500000);
    _exit(whole ? 0 : 1);
  }
  CHECK(whole && forking.child > 0);
  CHECK(waitpid(forking.child, &status, 0) == forking.child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  brimful_pool_release(pool);
}
