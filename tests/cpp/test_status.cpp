// Each status is reached, or each error thrown, by a test that is named after it, which tests/gates looks for.
#include "check.hpp"

#include <cstdlib>

using brimful::status;

namespace {

const brimful::options none;

// A source of 1000 bytes, which then answers this.
auto thousand_then(brimful::answer last)
{
  return [last, bytes_left = std::size_t{1000}](bytes window) mutable {
    if (bytes_left == 0)
      return last;
    const std::size_t count = window.size() < bytes_left ? window.size() : bytes_left;
    for (std::size_t i = 0; i < count; i++)
      window[i] = painted(1000 - bytes_left + i);
    bytes_left -= count;
    return brimful::answer::bytes(count);
  };
}

} // namespace

TEST(status_ok_is_a_body_that_came_whole)
{
  brimful::collector collector(none);
  SAME(collector.read(source{1000}), status::ok);
  CHECK(is_painted(collector.finish().segments()));
}

TEST(status_pending_is_a_source_that_has_nothing_now)
{
  brimful::collector collector(none);
  SAME(collector.read(thousand_then(brimful::answer::pending())), status::pending);
  SAME(collector.info().received, 1000U);
}

TEST(status_retry_is_what_a_source_answers_and_then_it_is_asked_again)
{
  int calls = 0;
  brimful::collector collector(none);
  SAME(collector.read([&](bytes) { return ++calls == 1 ? brimful::answer::retry() : brimful::answer::end(); }), status::ok);
  SAME(calls, 2);
}

TEST(status_more_is_a_call_whose_share_is_used)
{
  brimful::options options;
  options.max_step = 500;
  brimful::collector collector(options);
  SAME(collector.read(source{1000}), status::more);
  SAME(collector.info().received, 500U);
}

TEST(status_invalid_is_an_option_out_of_range)
{
  brimful::options options;
  options.padding = 1 << 20;
  THROWS(invalid, brimful::collector(options));
}

TEST(status_state_is_a_call_that_does_not_fit_what_the_object_is_doing)
{
  brimful::collector collector(none);
  THROWS(state, collector.finish());
}

TEST(status_busy_is_a_call_from_inside_the_objects_own_source)
{
  brimful::collector collector(none);
  SAME(collector.read([&](bytes) {
    THROWS(busy, collector.end());
    return 0;
  }),
       status::ok);
}

TEST(status_no_memory_is_an_allocator_that_has_none)
{
  counted_allocator allocator;
  brimful::options options;
  allocator.refuse_from = 0;
  options.allocator = &allocator.c;
  THROWS(no_memory, brimful::collect_exact(source{1000}, options));
  SAME(allocator.out, 0U);
}

TEST(status_budget_is_a_pool_that_has_handed_out_all_it_may)
{
  brimful::pool_options options;
  options.budget = 1;
  const brimful::pool pool(options);
  THROWS(budget, brimful::collect(source{1000}, {}, pool));
}

TEST(status_limit_is_a_body_of_more_bytes_than_allowed)
{
  brimful::options options;
  options.limit = 999;
  THROWS(limit, brimful::collect(source{1000}, options));
}

TEST(status_short_is_a_body_that_ended_before_its_length)
{
  brimful::options options;
  options.length = 1001;
  THROWS(short_, brimful::collect(source{1000}, options));
}

TEST(status_long_is_a_body_that_goes_on_after_its_length)
{
  brimful::options options;
  options.length = 999;
  options.end = brimful::ending::eof;
  THROWS(long_, brimful::collect(source{1000}, options));
}

TEST(status_source_is_an_error_of_the_sources_own)
{
  THROWS(source, brimful::collect(thousand_then(brimful::answer::error(-7))));
}

TEST(status_contract_is_an_answer_that_cannot_be)
{
  THROWS(contract, brimful::collect([](bytes window) { return window.size() + 1; }));
}

TEST(status_no_progress_is_a_source_that_is_interrupted_for_ever)
{
  THROWS(no_progress, brimful::collect([](bytes) { return brimful::answer::retry(); }));
}

TEST(status_cancelled_is_a_body_whose_cancel_object_was_triggered)
{
  const brimful::cancel cancel;
  brimful::options options;
  options.cancel = &cancel;
  cancel.trigger();
  THROWS(cancelled, brimful::collect(source{1000}, options));
}

TEST(status_encoding_is_text_that_is_not_what_it_is_said_to_be)
{
  brimful::collector collector(none);
  collector.write("ab\xff");
  collector.end();
  const brimful::buffer buffer = collector.finish();
  THROWS(encoding, buffer.decode("utf-8"));
}

// No use of the library that is known leads here.
TEST(status_panic_is_an_error_like_the_others)
{
  try {
    throw brimful::error(BRIMFUL_ERR_PANIC, "here");
  } catch (const brimful::error& error) {
    CHECK(error.code() == brimful::errc::panic);
  }
}
