/* Callbacks that call the library from inside, and callbacks that break their contract. */
#include "check.h"
#include "source.h"

#include <stdlib.h>
#include <string.h>

/* Calls everything on the collector that is reading, from inside. */
struct inside {
  brimful_collector *collector;
  brimful_pool *pool;
  int calls;
};

static brimful_status calls_everything(void *context, void *window, size_t room, size_t *filled)
{
  struct inside *inside = context;
  brimful_collector *collector = inside->collector;
  struct source source = SOURCE(1000);
  brimful_info info = { .struct_size = sizeof info };
  brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
  brimful_buffer *buffer = (brimful_buffer *)1;
  brimful_collector *other;
  brimful_slice slice;
  void *data = (void *)1;
  size_t size = 1;
  char bytes[4];

  if (inside->calls++ > 0)
    return BRIMFUL_OK;
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_ERR_BUSY);
  SAME(source.calls, 0);
  STATUS(brimful_collector_reserve(collector, 0, &data, &size), BRIMFUL_ERR_BUSY);
  CHECK(data == NULL && size == 0);
  STATUS(brimful_collector_commit(collector, 0), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_read_fd(collector, 0), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_write(collector, "x", 1, NULL), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_write(collector, "x", 1, &size), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_end(collector), BRIMFUL_ERR_BUSY);
  SAME(brimful_collector_copy(collector, 0, bytes, sizeof bytes), 0);
  SAME(brimful_collector_segments(collector, 0, &slice, 1), 0);
  STATUS(brimful_collector_is_complete(collector), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_ERR_BUSY);
  CHECK(buffer == NULL);
  STATUS(brimful_collector_finish_exact(collector, &data, &size), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_ERR_BUSY);
  STATUS(brimful_collector_info(collector, &info), BRIMFUL_OK);
  SAME(info.source_calls, 1);
  SAME(info.received, 3);

  /* what waits in a queue does not come in either */
  brimful_queue *queue;
  STATUS(brimful_queue_new(inside->pool, 1000, &queue), BRIMFUL_OK);
  STATUS(brimful_queue_write(queue, "abc", 3, &size), BRIMFUL_OK);
  STATUS(brimful_queue_move(queue, collector, &size), BRIMFUL_ERR_BUSY);
  SAME(size, 0);
  SAME(brimful_queue_length(queue), 3);
  STATUS(brimful_queue_reserve(queue, 0, &data, &size), BRIMFUL_OK);
  STATUS(brimful_queue_commit(queue, 0), BRIMFUL_OK);
  STATUS(brimful_queue_peek(queue, &slice, 1, &size), BRIMFUL_OK);
  STATUS(brimful_queue_skip(queue, 1), BRIMFUL_OK);
  STATUS(brimful_queue_read(queue, bytes, sizeof bytes, &size), BRIMFUL_OK);
  STATUS(brimful_queue_end(queue, BRIMFUL_OK), BRIMFUL_OK);
  brimful_queue_free(queue);

  /* the pool and other collectors are free */
  STATUS(brimful_pool_stats(inside->pool, &statistics), BRIMFUL_OK);
  brimful_pool_trim(inside->pool, 0);
  STATUS(brimful_collect(inside->pool, NULL, source_read, &source, &buffer, &other), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 1000));
  brimful_buffer *part;
  STATUS(brimful_buffer_slice(buffer, 0, 500, &part), BRIMFUL_OK);
  STATUS(brimful_buffer_detach(part), BRIMFUL_OK);
  CHECK(buffer_is_painted(part, 500));
  brimful_buffer_release(part);
  brimful_buffer_release(buffer);
  unsigned char target[1000];
  source.given = 0;
  STATUS(brimful_collect_into(NULL, source_read, &source, target, sizeof target, &size, NULL), BRIMFUL_OK);
  CHECK(size == sizeof target && is_painted(target, 0, sizeof target));
  source.given = 0;
  STATUS(brimful_collect_exact(inside->pool, NULL, source_read, &source, &data, &size, NULL), BRIMFUL_OK);
  CHECK(size == 1000 && is_painted(data, 0, 1000));
  brimful_memory_free(data);
  brimful_options options;
  brimful_pool_options pool_options;
  brimful_pool *pool;
  brimful_options_init(&options, sizeof options);
  brimful_pool_options_init(&pool_options, sizeof pool_options);
  STATUS(brimful_pool_new(&pool_options, &pool), BRIMFUL_OK);
  STATUS(brimful_cancel_new(&options.cancel), BRIMFUL_OK);
  brimful_cancel_release(brimful_cancel_retain(options.cancel));
  brimful_cancel_trigger(options.cancel);
  STATUS(brimful_collector_new(pool, &options, &other), BRIMFUL_OK);
  STATUS(brimful_collector_read(other, source_read, &source), BRIMFUL_ERR_CANCELLED);
  brimful_collector_free(other);
  STATUS(brimful_collector_new_into(NULL, target, sizeof target, &other), BRIMFUL_OK);
  STATUS(brimful_collector_write(other, "abcdef", 6, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_take_partial(other, &buffer), BRIMFUL_OK);
  brimful_collector_free(other);
  brimful_cancel_release(options.cancel);
  brimful_pool_release(pool);
  CHECK(brimful_pool_default() != NULL);

  const void *view;
  char *text;
  uint64_t fault;
  brimful_buffer_release(brimful_buffer_retain(buffer));
  SAME(brimful_buffer_length(buffer), 6);
  SAME(brimful_buffer_truncated(buffer), 0);
  SAME(brimful_buffer_segment_count(buffer), 1);
  SAME(brimful_buffer_segments(buffer, 0, &slice, 1), 1);
  SAME(brimful_buffer_copy(buffer, 0, bytes, sizeof bytes), 4);
  STATUS(brimful_buffer_info(buffer, &info), BRIMFUL_OK);
  STATUS(brimful_buffer_data(buffer, &view, &size), BRIMFUL_OK);
  STATUS(brimful_buffer_to_exact(buffer, NULL, &data, &size), BRIMFUL_OK);
  brimful_memory_free(data);
  STATUS(brimful_buffer_decode(buffer, NULL, 0, NULL, &text, &size, &fault), BRIMFUL_OK);
  brimful_memory_free(text);
  brimful_buffer_release(buffer);
  CHECK(brimful_status_name(0) != NULL && brimful_status_text(0) != NULL);
  CHECK(brimful_version() != NULL && brimful_version_number() != 0);

  CHECK(room >= 4);
  paint(window, 3, 4);
  *filled = 4;
  return BRIMFUL_OK;
}

TEST(from_inside_its_callback_a_collector_is_busy_its_info_works_and_everything_else_is_free)
{
  struct inside inside = { NULL, new_pool(0), 0 };
  unsigned char head[3];
  brimful_buffer *buffer;
  REQUIRE(brimful_collector_new(inside.pool, NULL, &inside.collector) == BRIMFUL_OK);
  paint(head, 0, 3);
  STATUS(brimful_collector_write(inside.collector, head, 3, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_read(inside.collector, calls_everything, &inside), BRIMFUL_OK);
  SAME(inside.calls, 2);
  STATUS(brimful_collector_finish(inside.collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 7));
  brimful_buffer_release(buffer);
  brimful_collector_free(inside.collector);
  brimful_pool_release(inside.pool);
}

struct freeing {
  brimful_collector *collector;
  struct source source;
};

static brimful_status frees_its_collector(void *context, void *window, size_t room, size_t *filled)
{
  struct freeing *freeing = context;
  brimful_info info = { .struct_size = sizeof info };
  brimful_collector_free(freeing->collector);
  brimful_collector_free(freeing->collector); /* asking again changes nothing */
  STATUS(brimful_collector_info(freeing->collector, &info), BRIMFUL_OK);
  STATUS(brimful_collector_end(freeing->collector), BRIMFUL_ERR_BUSY);
  return source_read(&freeing->source, window, room, filled);
}

TEST(a_collector_that_is_freed_from_inside_its_callback_goes_when_the_call_returns_with_its_own_status)
{
  static const brimful_status endings[] = { BRIMFUL_OK, BRIMFUL_PENDING, -5 };
  static const brimful_status expected[] = { BRIMFUL_OK, BRIMFUL_PENDING, BRIMFUL_ERR_SOURCE };
  for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
    brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
    brimful_pool *pool = new_pool(0);
    struct freeing freeing = { NULL, SOURCE(100000) };
    freeing.source.then = endings[i];
    REQUIRE(brimful_collector_new(pool, NULL, &freeing.collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read(freeing.collector, frees_its_collector, &freeing), expected[i]);
    SAME(freeing.source.given, 100000);
    STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
    SAME(statistics.outstanding, 0); /* it has given everything back */
    brimful_pool_release(pool);
  }
}

/* An allocator that calls the library with the collector in use, which its comment forbids: still an answer. */
struct meddling {
  brimful_collector *collector;
  int calls;
};

static void *meddling_allocate(void *context, size_t size)
{
  struct meddling *meddling = context;
  brimful_info info = { .struct_size = sizeof info };
  if (meddling->collector != NULL) {
    meddling->calls++;
    STATUS(brimful_collector_info(meddling->collector, &info), BRIMFUL_ERR_BUSY);
    STATUS(brimful_collector_end(meddling->collector), BRIMFUL_ERR_BUSY);
    brimful_collector_free(meddling->collector);
  }
  return malloc(size);
}

static void meddling_deallocate(void *context, void *memory, size_t size)
{
  (void)context;
  (void)size;
  free(memory);
}

TEST(a_collector_that_is_freed_from_inside_an_allocator_goes_when_the_call_returns)
{
  struct meddling meddling = { NULL, 0 };
  brimful_allocator allocator = { sizeof allocator, meddling_allocate, NULL, meddling_deallocate, &meddling };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  unsigned char bytes[1000];
  options.allocator = &allocator;
  options.prefer = BRIMFUL_PREFER_EXACT;
  options.length = sizeof bytes;
  paint(bytes, 0, sizeof bytes);
  REQUIRE(brimful_collector_new(NULL, &options, &meddling.collector) == BRIMFUL_OK);
  STATUS(brimful_collector_write(meddling.collector, bytes, sizeof bytes, NULL), BRIMFUL_OK);
  SAME(meddling.calls, 1);
}

/* Fills 500 bytes, then answers once as it is told to. */
struct lying {
  int calls;
  brimful_status status;
  size_t over;   /* claims room + over */
  int claims_all; /* claims SIZE_MAX */
};

static brimful_status lies(void *context, void *window, size_t room, size_t *filled)
{
  struct lying *lying = context;
  SAME(*filled, 0);
  CHECK(room >= 500 && window != NULL);
  if (lying->calls++ == 0) {
    paint(window, 0, 500);
    *filled = 500;
    return BRIMFUL_OK;
  }
  if (lying->claims_all)
    *filled = SIZE_MAX;
  else if (lying->over > 0)
    *filled = room + lying->over;
  return lying->status;
}

TEST(a_callback_that_claims_more_than_room_or_answers_nonsense_is_a_breach_and_nothing_of_it_counts)
{
  static const struct lying lies_told[] = {
    { 0, BRIMFUL_OK, 1, 0 },         { 0, BRIMFUL_OK, 0, 1 },    { 0, BRIMFUL_PENDING, 1, 0 }, { 0, BRIMFUL_RETRY, 1, 0 },
    { 0, -5, 1, 0 },                 { 0, -5, 0, 1 },            { 0, BRIMFUL_MORE, 0, 0 },    { 0, 4, 0, 0 },
    { 0, 1000, 0, 0 },               { 0, INT32_MAX, 0, 0 },     { 0, 4, 1, 0 },
  };
  for (size_t i = 0; i < ARRAY_LENGTH(lies_told); i++) {
    for (int way = 0; way < 4; way++) {
      brimful_options options = BRIMFUL_OPTIONS_INIT;
      brimful_pool *pool = new_pool(way % 2 == 0 ? 0 : BRIMFUL_POOL_LIST);
      struct lying lying = lies_told[i];
      brimful_collector *rest;
      brimful_buffer *buffer;
      brimful_info info;
      void *data;
      size_t length;
      if (way < 2) {
        STATUS(brimful_collect(pool, &options, lies, &lying, &buffer, &rest), BRIMFUL_ERR_CONTRACT);
      } else {
        options.length = 100000;
        STATUS(brimful_collect_exact(pool, &options, lies, &lying, &data, &length, &rest), BRIMFUL_ERR_CONTRACT);
      }
      SAME(lying.calls, 2);
      REQUIRE(rest != NULL);
      info = info_of(rest);
      SAME(info.received, 500);
      SAME(info.length, 500);
      STATUS(brimful_collector_take_partial(rest, &buffer), BRIMFUL_OK);
      CHECK(buffer_is_painted(buffer, 500));
      brimful_buffer_release(buffer);
      brimful_collector_free(rest);
      brimful_pool_release(pool);
    }
  }
}

TEST(a_negative_answer_is_the_callback_s_own_error_with_its_number_whatever_it_is)
{
  static const brimful_status numbers[] = { -1, -4, -14, -15, -1000, INT32_MIN };
  for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
    struct lying lying = { 0, numbers[i], 0, 0 };
    brimful_collector *rest;
    brimful_buffer *buffer;
    STATUS(brimful_collect(NULL, NULL, lies, &lying, &buffer, &rest), BRIMFUL_ERR_SOURCE);
    REQUIRE(rest != NULL);
    SAME(info_of(rest).source_error, numbers[i]);
    brimful_collector_free(rest);
  }
}

/* A window that was kept beyond its call and written to later; its block must never serve another body. */
static void *kept_window;

static brimful_status keeps_its_window(void *context, void *window, size_t room, size_t *filled)
{
  (void)context;
  kept_window = window;
  *filled = room + 1;
  return BRIMFUL_OK;
}

static brimful_status finds_its_window(void *context, void *window, size_t room, size_t *filled)
{
  (void)room;
  (void)filled;
  *(int *)context |= window == kept_window;
  return BRIMFUL_OK;
}

TEST(a_block_whose_callback_broke_the_contract_is_not_used_for_another_body)
{
  for (uint32_t flags = 0; flags <= BRIMFUL_POOL_LIST; flags++) {
    brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
    brimful_pool *pool = new_pool(flags);
    brimful_buffer *buffer;
    int found = 0;
    STATUS(brimful_collect(pool, NULL, keeps_its_window, NULL, &buffer, NULL), BRIMFUL_ERR_CONTRACT);
    STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
    SAME(statistics.retained, 0);
    SAME(statistics.freed, 1);
    STATUS(brimful_collect(pool, NULL, finds_its_window, &found, &buffer, NULL), BRIMFUL_OK);
    brimful_buffer_release(buffer);
    STATUS(brimful_pool_stats(pool, &statistics), BRIMFUL_OK);
    SAME(statistics.reused, 0);
    brimful_pool_release(pool);
  }
}
