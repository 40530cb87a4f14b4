// What may be a source, and what it throws.
#include "check.hpp"

#include <functional>
#include <memory>
#include <stdexcept>

using brimful::errc;
using brimful::status;

namespace {

// An exception of the user's own, of which no copy may be made on the way.
struct own_exception {
  explicit own_exception(int* where) : here(where) {}
  own_exception(const own_exception&) = default;
  int* here;
};

struct throwing {
  source before;
  int* mark;

  std::size_t operator()(bytes window)
  {
    const std::size_t count = before(window);
    if (count == 0)
      throw own_exception(mark);
    return count;
  }
};

std::size_t free_function(bytes window)
{
  static source it{1000};
  return it(window);
}

// What `call` throws, which is to be own_exception.
template <class Call> const int* thrown_by(Call&& call)
{
  try {
    call();
  } catch (const own_exception& exception) {
    return exception.here;
  } catch (...) {
    check::failed(__FILE__, __LINE__, "another exception than the source's");
  }
  return nullptr;
}

} // namespace

TEST(a_source_answers_with_any_type_of_whole_numbers)
{
  source size{1000}, of_int{1000}, of_long{1000}, of_u16{1000};
  SAME(brimful::collect(size).size(), 1000u);
  SAME(brimful::collect([&](bytes window) { return static_cast<int>(of_int(window)); }).size(), 1000u);
  SAME(brimful::collect([&](bytes window) { return static_cast<long>(of_long(window)); }).size(), 1000u);
  SAME(brimful::collect([&](bytes window) { return static_cast<std::uint16_t>(of_u16(window)); }).size(), 1000u);
}

TEST(a_source_may_be_a_temporary_a_const_object_a_function_or_a_std_function)
{
  SAME(brimful::collect(source{5000}).size(), 5000u);
  auto shared = std::make_shared<source>(source{5000});
  const auto constant = [shared](bytes window) { return (*shared)(window); };
  SAME(brimful::collect(constant).size(), 5000u);
  SAME(brimful::collect(free_function).size(), 1000u);
  SAME(brimful::collect(&free_function).size(), 0u); // it has ended
  std::function<std::size_t(bytes)> function = source{5000};
  SAME(brimful::collect(function).size(), 5000u);
}

TEST(a_source_that_is_given_by_name_is_not_copied)
{
  source it{5000, 7};
  brimful::collect(it);
  SAME(it.given, 5000u);
}

TEST(an_answer_says_bytes_end_pending_retry_and_errors)
{
  int call = 0;
  brimful::collector collector{brimful::options{}};
  const auto scripted = [&](bytes window) {
    window[0] = painted(static_cast<unsigned>(call));
    switch (call++) {
    case 0:
      return brimful::answer::bytes(1);
    case 1:
      return brimful::answer::pending(1);
    case 2:
      return brimful::answer::retry(1);
    default:
      return brimful::answer::end();
    }
  };
  SAME(collector.read(scripted), status::pending);
  SAME(collector.info().received, 2u);
  SAME(collector.read(scripted), status::ok);
  SAME(call, 4);
  const brimful::buffer body = collector.finish();
  SAME(body.size(), 3u);
  CHECK(is_painted(body.data()));
}

TEST(an_error_of_the_sources_own_keeps_its_number_and_the_bytes_that_came_with_it)
{
  brimful::collector collector{brimful::options{}};
  const auto failing = [](bytes window) {
    window[0] = painted(0);
    return brimful::answer::error(-77, 1);
  };
  THROWS(source, collector.read(failing));
  SAME(collector.info().source_error, -77);
  try {
    collector.read(failing); // the source is not asked again; the number is remembered
    MISSED();
  } catch (const brimful::error& error) {
    SAME(error.source_error(), -77);
  }
  try {
    collector.write("x");
    MISSED();
  } catch (const brimful::error& error) {
    SAME(error.source_error(), -77);
  }
  SAME(collector.info().source_calls, 1u);
  SAME(collector.take_partial().size(), 1u);
}

TEST(a_source_may_answer_a_status_as_in_c)
{
  source it{3000, 1000};
  const auto as_in_c = [&](bytes window, std::size_t& filled) -> brimful_status {
    CHECK(filled == 0);
    filled = it(window);
    return BRIMFUL_OK;
  };
  SAME(brimful::collect(as_in_c).size(), 3000u);
  source other{3000, 1000};
  const auto typed = [&](bytes window, std::size_t& filled) {
    filled = other(window);
    return filled == 0 && other.length == 3000 ? status::ok : status::retry;
  };
  THROWS(no_progress, brimful::collect([](bytes, std::size_t&) { return status::retry; }));
  brimful::buffer body;
  brimful::collector rest;
  other.length = 3000;
  SAME(brimful::collect(typed, body, rest), status::ok);
  SAME(body.size(), 3000u);
}

TEST(a_claim_of_more_than_the_room_or_below_zero_or_an_unknown_status_breaks_the_contract)
{
  THROWS(contract, brimful::collect([](bytes window) { return window.size() + 1; }));
  THROWS(contract, brimful::collect([](bytes) { return static_cast<std::size_t>(-1); }));
  THROWS(contract, brimful::collect([](bytes) { return -1; }));
  THROWS(contract, brimful::collect([](bytes) { return static_cast<signed char>(-1); }));
  THROWS(contract, brimful::collect([](bytes) { return brimful::answer{0, 99}; }));
  THROWS(contract, brimful::collect([](bytes) { return brimful::answer{0, BRIMFUL_MORE}; }));
}

TEST(a_source_of_one_byte_at_a_time_gives_the_same_body)
{
  const brimful::buffer body = brimful::collect(source{70000, 1});
  SAME(body.size(), 70000u);
  CHECK(is_painted(body.data()));
}

TEST(what_a_source_throws_comes_out_of_read_as_the_same_object_and_what_came_can_be_taken)
{
  for (const std::uint64_t before : {0u, 1u, 250000u}) {
    int mark = 0;
    brimful::collector collector{brimful::options{}};
    throwing it{source{before, 4096}, &mark};
    CHECK(thrown_by([&] { collector.read(it); }) == &mark);
    const brimful::info info = collector.info();
    SAME(info.status, BRIMFUL_ERR_SOURCE);
    SAME(info.source_error, brimful::source_threw);
    SAME(info.state, BRIMFUL_STATE_FAILED);
    THROWS(source, collector.read(it));
    THROWS(source, collector.finish());
    THROWS(source, collector.finish_exact());
    THROWS(source, collector.reserve());
    THROWS(source, collector.is_complete());
    const brimful::buffer partial = collector.take_partial();
    SAME(partial.size(), before);
    CHECK(is_painted(partial.segments()));
    THROWS(state, collector.take_partial());
    collector.reset();
    SAME(collector.read(source{100}), status::ok);
    SAME(collector.finish().size(), 100u);
  }
}

TEST(what_a_source_throws_is_no_copy)
{
  const auto first = std::make_exception_ptr(std::runtime_error("the source's"));
  std::exception_ptr came;
  try {
    brimful::collect([&](bytes) -> std::size_t { std::rethrow_exception(first); });
  } catch (...) {
    came = std::current_exception();
  }
  CHECK(came == first);
}

TEST(anything_may_be_thrown)
{
  try {
    brimful::collect([](bytes) -> std::size_t { throw 42; });
    MISSED();
  } catch (int number) {
    SAME(number, 42);
  }
}

TEST(an_exception_at_the_nth_call_comes_out_of_every_one_shot_function_and_leaves_the_rest)
{
  for (std::uint64_t calls = 0; calls < 20; calls++) {
    int mark = 0;
    brimful::options options;
    brimful::info info;
    options.info = &info;
    const auto make = [&] { return throwing{source{calls * 999, 999}, &mark}; };
    std::vector<std::byte> target(30000);

    CHECK(thrown_by([&] { brimful::collect(make(), options); }) == &mark);
    SAME(info.source_error, brimful::source_threw);
    SAME(info.received, calls * 999);
    CHECK(thrown_by([&] { brimful::collect_exact(make(), options); }) == &mark);
    CHECK(thrown_by([&] { brimful::collect_into(make(), target, options); }) == &mark);
    SAME(info.length, calls * 999);

    brimful::collector rest;
    brimful::buffer pooled;
    CHECK(thrown_by([&] { brimful::collect(make(), pooled, rest, options); }) == &mark);
    CHECK(!pooled);
    SAME(rest.take_partial().size(), calls * 999);
    brimful::exact_buffer exact;
    CHECK(thrown_by([&] { brimful::collect_exact(make(), exact, rest, options); }) == &mark);
    CHECK(!exact);
    SAME(rest.take_partial().size(), calls * 999);
    std::size_t length = 1;
    CHECK(thrown_by([&] { brimful::collect_into(make(), target, length, rest, options); }) == &mark);
    SAME(length, calls * 999);
    target.resize(length);
    CHECK(is_painted(target));
    SAME(rest.take_partial().size(), calls * 999);
  }
}

TEST(a_call_that_throws_brings_no_bytes)
{
  brimful::collector collector{brimful::options{}};
  const auto it = [](bytes, std::size_t& filled) -> status {
    filled = 5;
    throw own_exception(nullptr);
  };
  try {
    collector.read(it);
    MISSED();
  } catch (const own_exception&) {
  }
  SAME(collector.info().received, 0u);
}

TEST(an_exception_passes_through_a_body_within_a_body)
{
  int mark = 0;
  brimful::collector outer{brimful::options{}};
  const auto nested = [&](bytes) -> std::size_t { return brimful::collect(throwing{source{500}, &mark}).size(); };
  CHECK(thrown_by([&] { outer.read(nested); }) == &mark);
  SAME(outer.info().source_error, brimful::source_threw);
}

TEST(calls_on_the_collector_from_inside_its_source_are_busy_and_info_works)
{
  brimful::collector collector{brimful::options{}};
  int calls = 0;
  const auto it = [&](bytes window) -> std::size_t {
    if (calls++ > 0)
      return 0;
    THROWS(busy, collector.read(source{1}));
    THROWS(busy, collector.read_fd(0));
    THROWS(busy, collector.write("x"));
    THROWS(busy, collector.write_some(bytes{}));
    THROWS(busy, collector.reserve());
    THROWS(busy, collector.commit(0));
    THROWS(busy, collector.end());
    THROWS(busy, collector.finish());
    THROWS(busy, collector.finish_exact());
    THROWS(busy, collector.take_partial());
    THROWS(busy, collector.reset());
    THROWS(busy, collector.reset(brimful::options{}));
    THROWS(busy, collector.is_complete());
    std::byte one[1];
    SAME(collector.copy(0, one), 0u);
    CHECK(collector.segments().empty());
    SAME(collector.info().source_calls, 1u);
    window[0] = painted(0);
    return 1;
  };
  SAME(collector.read(it), status::ok);
  SAME(collector.finish().size(), 1u);
}

TEST(busy_that_a_source_lets_out_comes_out_of_the_call_around_it)
{
  brimful::collector collector{brimful::options{}};
  THROWS(busy, collector.read([&](bytes) {
    collector.end();
    return 0;
  }));
  SAME(collector.info().source_error, brimful::source_threw);
}

TEST(a_source_may_destroy_or_move_its_collector)
{
  auto collector = std::make_unique<brimful::collector>(brimful::options{});
  SAME(collector->read([&](bytes) {
    collector.reset();
    return 0;
  }), status::ok);

  auto failing = std::make_unique<brimful::collector>(brimful::options{});
  THROWS(source, failing->read([&](bytes) {
    failing.reset();
    return brimful::answer::error(-5);
  }));

  brimful::collector from{brimful::options{}}, to;
  source it{1000, 10};
  SAME(from.read([&](bytes window) {
    if (from)
      to = std::move(from);
    return it(window);
  }), status::ok);
  CHECK(!from);
  SAME(to.finish().size(), 1000u);
}
