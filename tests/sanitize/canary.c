/*
 * Programs that break a rule of brimful.h or of C each, `canary NAME`, and would go unnoticed without what is to report
 * them: see canaries.py. One that reaches its end says so, and then its sanitizer is not on.
 */
#include <brimful.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 1000
#define LARGE 1000000

static volatile unsigned char seen; /* so that what is looked at is really read */

/* Never inlined, so that reports name them. */
#define CANARY __attribute__((noinline)) static void

static void demand(int condition)
{
  if (!condition) {
    fprintf(stderr, "a canary did not come to what it is for\n");
    exit(2);
  }
}

/* A source of *context bytes. */
static brimful_status gives(void *context, void *window, size_t room, size_t *filled)
{
  size_t *left = context;
  *filled = *left < room ? *left : room;
  memset(window, 'x', *filled);
  *left -= *filled;
  return BRIMFUL_OK;
}

static brimful_buffer *buffer_of(brimful_pool *pool, size_t length)
{
  brimful_buffer *buffer = NULL;
  demand(brimful_collect(pool, NULL, gives, &length, &buffer, NULL) == BRIMFUL_OK);
  return buffer;
}

static brimful_pool *pool_with(uint32_t flags, const brimful_allocator *allocator)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool = NULL;
  options.flags = flags;
  options.allocator = allocator;
  demand(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  return pool;
}

static void *own_allocate(void *context, size_t size)
{
  (void)context;
  return malloc(size);
}

static void own_deallocate(void *context, void *memory, size_t size)
{
  (void)context;
  (void)size;
  free(memory);
}

static const brimful_allocator own = { sizeof own, own_allocate, NULL, own_deallocate, NULL };

/* Looks at a buffer's bytes after its release. The memory is still the pool's, and nobody else has it. */
CANARY look_after_release(brimful_pool *pool, size_t length)
{
  brimful_buffer *buffer = buffer_of(pool, length);
  const void *data;
  size_t size;
  demand(brimful_buffer_data(buffer, &data, &size) == BRIMFUL_OK && size == length);
  brimful_buffer_release(buffer);
  seen = ((const unsigned char *)data)[length / 2];
}

CANARY stale_small(void)
{
  look_after_release(NULL, SMALL);
}

CANARY stale_range(void)
{
  look_after_release(NULL, LARGE);
}

CANARY stale_in_a_list(void)
{
  look_after_release(pool_with(BRIMFUL_POOL_LIST, NULL), SMALL);
}

CANARY stale_in_own_memory(void)
{
  look_after_release(pool_with(0, &own), SMALL);
}

/* A window that the source keeps and writes into when its body is gone (H23). */
static void *kept_window;

static brimful_status keeps(void *context, void *window, size_t room, size_t *filled)
{
  (void)room;
  kept_window = window;
  memset(window, 'x', 1);
  *filled = *(int *)context == 0;
  *(int *)context = 1;
  return BRIMFUL_OK;
}

CANARY write_into_a_kept_window(void)
{
  int given = 0;
  brimful_buffer *buffer;
  demand(brimful_collect(NULL, NULL, keeps, &given, &buffer, NULL) == BRIMFUL_OK);
  brimful_buffer_release(buffer);
  *(volatile char *)kept_window = 'y';
}

/* One byte more than there is room for. The block goes on behind it. */
static brimful_status gives_too_much(void *context, void *window, size_t room, size_t *filled)
{
  (void)context;
  for (size_t i = 0; i <= room; i++)
    ((volatile char *)window)[i] = 'x';
  *filled = room;
  return BRIMFUL_OK;
}

CANARY write_beyond_a_window(void)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_buffer *buffer;
  options.length = 100000;
  brimful_collect(NULL, &options, gives_too_much, NULL, &buffer, NULL);
}

CANARY write_beyond_a_reserved_window(void)
{
  brimful_collector *collector;
  void *window;
  size_t room;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.length = 200000;
  demand(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
  demand(brimful_collector_reserve(collector, 0, &window, &room) == BRIMFUL_OK);
  memset(window, 'x', room + 1);
  seen = *(unsigned char *)window;
}

CANARY write_beyond_a_queues_window(void)
{
  brimful_queue *queue;
  void *window;
  size_t room;
  demand(brimful_queue_new(NULL, 100, &queue) == BRIMFUL_OK);
  demand(brimful_queue_reserve(queue, 0, &window, &room) == BRIMFUL_OK && room == 100);
  memset(window, 'x', room + 1);
  seen = *(unsigned char *)window;
}

/* The library is told of more places than there are, and writes them one by one. */
CANARY too_few_places_for_pieces(void)
{
  brimful_pool *pool = pool_with(BRIMFUL_POOL_LIST, NULL);
  brimful_buffer *buffer = buffer_of(pool, LARGE);
  brimful_slice *places = malloc(2 * sizeof *places);
  demand(brimful_buffer_segment_count(buffer) > 2);
  seen = (unsigned char)brimful_buffer_segments(buffer, 0, places, brimful_buffer_segment_count(buffer));
}

/* The library is told of more room than there is, and copies. */
CANARY too_little_room_for_a_copy(void)
{
  brimful_buffer *buffer = buffer_of(NULL, SMALL);
  char *room = malloc(SMALL / 2);
  seen = (unsigned char)brimful_buffer_copy(buffer, 0, room, SMALL);
}

/* A handle of a body that is gone. */
CANARY use_a_freed_collector(void)
{
  brimful_collector *collector;
  demand(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  brimful_collector_free(collector);
  seen = (unsigned char)brimful_collector_is_complete(collector);
}

/* A body that is copied onto itself. */
CANARY copy_that_overlaps(void)
{
  brimful_buffer *buffer = buffer_of(NULL, SMALL);
  const void *data;
  size_t size;
  demand(brimful_buffer_data(buffer, &data, &size) == BRIMFUL_OK);
  seen = (unsigned char)brimful_buffer_copy(buffer, 0, (char *)(uintptr_t)data + 1, SMALL - 1);
}

CANARY leaked_buffer(void)
{
  brimful_buffer *buffer = buffer_of(NULL, SMALL);
  seen = (unsigned char)brimful_buffer_length(buffer);
  buffer = NULL;
}

CANARY leaked_exact_result(void)
{
  size_t left = SMALL, length;
  void *data;
  demand(brimful_collect_exact(NULL, NULL, gives, &left, &data, &length, NULL) == BRIMFUL_OK);
  seen = (unsigned char)length;
  data = NULL;
}

CANARY signed_overflow(void)
{
  volatile int largest = INT32_MAX;
  seen = (unsigned char)(largest + 1);
}

/* What was committed and never written. */
CANARY uninitialised_read(void)
{
  brimful_pool *pool = pool_with(BRIMFUL_POOL_LIST, NULL);
  brimful_collector *collector;
  brimful_buffer *buffer;
  void *window;
  size_t room;
  unsigned char byte;
  demand(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
  demand(brimful_collector_reserve(collector, 0, &window, &room) == BRIMFUL_OK);
  demand(brimful_collector_commit(collector, 100) == BRIMFUL_OK);
  demand(brimful_collector_end(collector) == BRIMFUL_OK);
  demand(brimful_collector_finish(collector, &buffer) == BRIMFUL_OK);
  demand(brimful_buffer_copy(buffer, 50, &byte, 1) == 1);
  if (byte == 'x')
    seen = byte;
}

/* Two threads that share what only one may use at a time. */
static void on_two_threads(void *(*first)(void *), void *(*second)(void *), void *context)
{
  pthread_t threads[2];
  demand(pthread_create(&threads[0], NULL, first, context) == 0);
  demand(pthread_create(&threads[1], NULL, second, context) == 0);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

static void *writes(void *context)
{
  for (int i = 0; i < 1000000; i++) /* until it is seen */
    brimful_collector_write(context, "x", 1, NULL);
  return NULL;
}

static void *frees(void *context)
{
  brimful_collector_free(context);
  return NULL;
}

/* The collector itself answers busy to a second thread; nothing can, once it is gone. */
CANARY race_on_a_collector(void)
{
  brimful_collector *collector;
  demand(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  on_two_threads(writes, frees, collector);
}

static char target[SMALL];

static void *writes_into_the_target(void *context)
{
  brimful_collector *collector;
  (void)context;
  demand(brimful_collector_new_into(NULL, target, sizeof target, &collector) == BRIMFUL_OK);
  brimful_collector_write(collector, "some bytes", 10, NULL);
  brimful_collector_free(collector);
  return NULL;
}

CANARY race_on_a_target(void)
{
  on_two_threads(writes_into_the_target, writes_into_the_target, NULL);
}

static void *detaches(void *context)
{
  brimful_buffer_detach(context);
  return NULL;
}

static void *looks(void *context)
{
  brimful_slice piece;
  brimful_buffer_segments(context, 0, &piece, 1);
  return NULL;
}

CANARY race_on_a_buffer(void)
{
  brimful_buffer *whole = buffer_of(NULL, LARGE), *slice;
  demand(brimful_buffer_slice(whole, 1000, 100, &slice) == BRIMFUL_OK);
  on_two_threads(detaches, looks, slice);
}

static void *queues(void *context)
{
  size_t written;
  for (int i = 0; i < 1000; i++)
    brimful_queue_write(context, "x", 1, &written);
  return NULL;
}

static void *asks_for_the_length(void *context)
{
  for (int i = 0; i < 1000; i++)
    seen = (unsigned char)brimful_queue_length(context);
  return NULL;
}

CANARY race_on_a_queue(void)
{
  brimful_queue *queue;
  demand(brimful_queue_new(NULL, 1 << 20, &queue) == BRIMFUL_OK);
  on_two_threads(queues, asks_for_the_length, queue);
}

#define NAMED(function) { #function, function }

static const struct {
  const char *name;
  void (*run)(void);
} canaries[] = {
  NAMED(stale_small),
  NAMED(stale_range),
  NAMED(stale_in_a_list),
  NAMED(stale_in_own_memory),
  NAMED(write_into_a_kept_window),
  NAMED(write_beyond_a_window),
  NAMED(write_beyond_a_reserved_window),
  NAMED(write_beyond_a_queues_window),
  NAMED(too_few_places_for_pieces),
  NAMED(too_little_room_for_a_copy),
  NAMED(use_a_freed_collector),
  NAMED(copy_that_overlaps),
  NAMED(leaked_buffer),
  NAMED(leaked_exact_result),
  NAMED(signed_overflow),
  NAMED(uninitialised_read),
  NAMED(race_on_a_collector),
  NAMED(race_on_a_target),
  NAMED(race_on_a_buffer),
  NAMED(race_on_a_queue),
};

int main(int count, char **arguments)
{
  for (size_t i = 0; count == 2 && i < sizeof canaries / sizeof *canaries; i++) {
    if (strcmp(arguments[1], canaries[i].name) == 0) {
      canaries[i].run();
      puts("reached its end");
      return 0;
    }
  }
  fprintf(stderr, "usage: canary NAME\n");
  return 2;
}
