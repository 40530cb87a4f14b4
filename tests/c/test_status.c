/* Statuses and the version. Each status is reached by a test that is named after it, which tests/gates looks for. */
#include "check.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  brimful_status status;
  const char *name;
} names[] = {
  { BRIMFUL_OK, "ok" },
  { BRIMFUL_PENDING, "pending" },
  { BRIMFUL_RETRY, "retry" },
  { BRIMFUL_MORE, "more" },
  { BRIMFUL_ERR_INVALID, "invalid" },
  { BRIMFUL_ERR_STATE, "state" },
  { BRIMFUL_ERR_BUSY, "busy" },
  { BRIMFUL_ERR_NO_MEMORY, "no_memory" },
  { BRIMFUL_ERR_BUDGET, "budget" },
  { BRIMFUL_ERR_LIMIT, "limit" },
  { BRIMFUL_ERR_SHORT, "short" },
  { BRIMFUL_ERR_LONG, "long" },
  { BRIMFUL_ERR_SOURCE, "source" },
  { BRIMFUL_ERR_CONTRACT, "contract" },
  { BRIMFUL_ERR_NO_PROGRESS, "no_progress" },
  { BRIMFUL_ERR_CANCELLED, "cancelled" },
  { BRIMFUL_ERR_ENCODING, "encoding" },
  { BRIMFUL_ERR_PANIC, "panic" },
};

TEST(every_status_has_its_number_its_name_and_a_sentence)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = brimful_status_text(names[i].status);
    SAME(names[i].status, (brimful_status)(i < 4 ? (int)i : 3 - (int)i));
    CHECK(strcmp(brimful_status_name(names[i].status), names[i].name) == 0);
    CHECK(strlen(text) > 10 && text[strlen(text) - 1] == '.');
  }
}

TEST(a_number_that_is_no_status_is_called_unknown)
{
  const brimful_status strange[] = { 4, 1000, INT32_MAX, -15, -1000, INT32_MIN };
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    CHECK(strcmp(brimful_status_name(strange[i]), "unknown") == 0);
    CHECK(strlen(brimful_status_text(strange[i])) > 10);
  }
}

TEST(the_library_that_runs_is_of_the_release_that_the_header_says)
{
  char text[32];
  SAME(brimful_version_number(), BRIMFUL_VERSION_NUMBER);
  SAME(BRIMFUL_VERSION_NUMBER, BRIMFUL_VERSION_MAJOR * 65536 + BRIMFUL_VERSION_MINOR * 256 + BRIMFUL_VERSION_PATCH);
  snprintf(text, sizeof text, "%d.%d.%d", BRIMFUL_VERSION_MAJOR, BRIMFUL_VERSION_MINOR, BRIMFUL_VERSION_PATCH);
  CHECK(strcmp(brimful_version(), text) == 0);
}

/* One body of a source, with what it is to end with. */
static void ends_with(brimful_status expected, struct source source, const brimful_options *options)
{
  brimful_collector *rest = NULL;
  brimful_buffer *buffer = NULL;
  STATUS(brimful_collect(NULL, options, source_read, &source, &buffer, &rest), expected);
  CHECK((buffer != NULL) == (expected == BRIMFUL_OK));
  CHECK((rest != NULL) == (expected != BRIMFUL_OK));
  if (rest != NULL && expected < 0) {
    STATUS(brimful_collector_is_complete(rest), expected);
    SAME(info_of(rest).status, expected);
  }
  brimful_buffer_release(buffer);
  brimful_collector_free(rest);
}

TEST(status_ok_is_a_body_that_came_whole)
{
  ends_with(BRIMFUL_OK, (struct source)SOURCE(1000), NULL);
}

TEST(status_pending_is_a_source_that_has_nothing_now)
{
  ends_with(BRIMFUL_PENDING, (struct source){ .length = 1000, .pend_every = 500 }, NULL);
}

/* Answers one after the other of a list. */
static brimful_status answers(void *context, void *window, size_t room, size_t *filled)
{
  const brimful_status **next = context;
  (void)window;
  (void)room;
  (void)filled;
  return *(*next)++;
}

TEST(status_retry_is_what_a_callback_answers_and_then_it_is_asked_again)
{
  brimful_buffer *buffer;
  const brimful_status list[] = { BRIMFUL_RETRY, BRIMFUL_OK }, *next = list;
  STATUS(brimful_collect(NULL, NULL, answers, &next, &buffer, NULL), BRIMFUL_OK);
  SAME(next - list, 2);
  SAME(brimful_buffer_length(buffer), 0);
  brimful_buffer_release(buffer);
}

TEST(status_more_is_a_call_whose_share_is_used)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.max_step = 4096;
  ends_with(BRIMFUL_MORE, (struct source)SOURCE(10000), &options);
}

TEST(status_invalid_is_an_option_out_of_range)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  options.flags = 1u << 31;
  STATUS(brimful_collector_new(NULL, &options, &collector), BRIMFUL_ERR_INVALID);
  CHECK(collector == NULL);
}

TEST(status_state_is_a_call_that_does_not_fit_what_the_object_is_doing)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_ERR_STATE);
  brimful_collector_free(collector);
}

struct inside {
  brimful_collector *collector;
  brimful_status came;
};

static brimful_status ends_its_own_collector(void *context, void *window, size_t room, size_t *filled)
{
  struct inside *inside = context;
  (void)window;
  (void)room;
  (void)filled;
  inside->came = brimful_collector_end(inside->collector);
  return BRIMFUL_OK;
}

TEST(status_busy_is_a_call_from_inside_the_object_s_own_callback)
{
  struct inside inside = { NULL, BRIMFUL_OK };
  REQUIRE(brimful_collector_new(NULL, NULL, &inside.collector) == BRIMFUL_OK);
  STATUS(brimful_collector_read(inside.collector, ends_its_own_collector, &inside), BRIMFUL_OK);
  STATUS(inside.came, BRIMFUL_ERR_BUSY);
  brimful_collector_free(inside.collector);
}

static void *has_none(void *context, size_t size)
{
  (void)context;
  (void)size;
  return NULL;
}

static void takes_none(void *context, void *memory, size_t size)
{
  (void)context;
  (void)size;
  free(memory);
}

TEST(status_no_memory_is_an_allocator_that_has_none)
{
  const brimful_allocator allocator = { sizeof allocator, has_none, NULL, takes_none, NULL };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(1000);
  void *data = &source;
  size_t length = 1;
  options.allocator = &allocator;
  STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, NULL), BRIMFUL_ERR_NO_MEMORY);
  CHECK(data == NULL && length == 0);
}

TEST(status_budget_is_a_pool_that_has_handed_out_all_it_may)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  struct source source = SOURCE(1000);
  brimful_buffer *buffer;
  brimful_pool *pool;
  options.budget = 1;
  REQUIRE(brimful_pool_new(&options, &pool) == BRIMFUL_OK);
  STATUS(brimful_collect(pool, NULL, source_read, &source, &buffer, NULL), BRIMFUL_ERR_BUDGET);
  SAME(source.calls, 0);
  brimful_pool_release(pool);
}

TEST(status_limit_is_a_body_of_more_bytes_than_allowed)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.limit = 999;
  ends_with(BRIMFUL_ERR_LIMIT, (struct source)SOURCE(1000), &options);
}

TEST(status_short_is_a_body_that_ended_before_its_length)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.length = 1001;
  ends_with(BRIMFUL_ERR_SHORT, (struct source)SOURCE(1000), &options);
}

TEST(status_long_is_a_body_that_goes_on_after_its_length)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.length = 999;
  options.end = BRIMFUL_END_EOF;
  ends_with(BRIMFUL_ERR_LONG, (struct source)SOURCE(1000), &options);
}

TEST(status_source_is_an_error_of_the_callback_s_own)
{
  ends_with(BRIMFUL_ERR_SOURCE, (struct source){ .length = 1000, .then = -7 }, NULL);
}

TEST(status_contract_is_an_answer_that_cannot_be)
{
  ends_with(BRIMFUL_ERR_CONTRACT, (struct source){ .length = 1000, .then = 99 }, NULL);
}

TEST(status_no_progress_is_a_callback_that_is_interrupted_for_ever)
{
  ends_with(BRIMFUL_ERR_NO_PROGRESS, (struct source){ .length = 1000, .then = BRIMFUL_RETRY }, NULL);
}

TEST(status_cancelled_is_a_body_whose_cancel_object_was_triggered)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
  brimful_cancel_trigger(options.cancel);
  ends_with(BRIMFUL_ERR_CANCELLED, (struct source)SOURCE(1000), &options);
  brimful_cancel_release(options.cancel);
}

TEST(status_encoding_is_text_that_is_not_what_it_is_said_to_be)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  uint64_t offset = 0;
  size_t length;
  char *text;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_write(collector, "ab\xff", 3, NULL), BRIMFUL_OK);
  STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
  STATUS(brimful_buffer_decode(buffer, "utf-8", 0, NULL, &text, &length, &offset), BRIMFUL_ERR_ENCODING);
  SAME(offset, 2);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

/* No use of the library that is known leads here; its own test (ffi/src/guard.rs) fails inside on purpose. */
TEST(status_panic_has_a_number_and_a_text_for_callers_to_tell)
{
  CHECK(strcmp(brimful_status_name(BRIMFUL_ERR_PANIC), "panic") == 0);
  CHECK(strstr(brimful_status_text(BRIMFUL_ERR_PANIC), "inside") != NULL);
}
