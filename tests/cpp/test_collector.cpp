// Collectors step by step, and the one-shot functions.
#include "check.hpp"

#include <array>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

using brimful::errc;
using brimful::status;

namespace {

const brimful::options defaults;

// Answers pending after every `each` bytes.
struct pausing {
  source from;
  bool paused = false;

  brimful::answer operator()(bytes window)
  {
    paused = !paused;
    return paused ? brimful::answer::bytes(from(window)) : brimful::answer::pending();
  }
};

} // namespace

TEST(every_drive_gives_the_same_body)
{
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{300000}}) {
    const auto content = paint(0, length);
    brimful::collector read{defaults}, written{defaults}, filled{defaults};
    SAME(read.read(source{length, 1000}), status::ok);
    for (std::size_t i = 0; i < length; i += 999)
      written.write(content.data() + i, std::min<std::size_t>(999, length - i));
    written.end();
    for (std::size_t i = 0; i < length;) {
      const bytes window = filled.reserve(length - i);
      const std::size_t count = std::min(window.size(), length - i);
      std::memcpy(window.data(), content.data() + i, count);
      filled.commit(count);
      i += count;
    }
    filled.end();
    for (brimful::collector* collector : {&read, &written, &filled}) {
      CHECK(collector->is_complete());
      const brimful::buffer body = collector->finish();
      SAME(body.size(), length);
      CHECK(is_painted(body.data()));
      THROWS(state, collector->finish());
    }
  }
}

TEST(write_takes_pointers_spans_and_text)
{
  brimful::collector collector{defaults};
  const std::vector<std::byte> vector{std::byte{'c'}};
  const std::string text = "d";
  collector.write("ab");
  collector.write(vector);
  collector.write(text);
  collector.write(text.data(), 1);
  collector.write(nullptr, 0);
  collector.write(std::string_view());
  collector.end();
  SAME(std::string(collector.finish().view()), "abcdd");
  THROWS(invalid, brimful::collector(defaults).write(nullptr, 1));
}

TEST(write_some_takes_what_an_announced_body_lacks_and_leaves_the_rest)
{
  brimful::options options;
  options.length = 10;
  brimful::collector collector(options);
  const auto content = paint(0, 25);
  SAME(collector.write_some(content), 10u);
  CHECK(collector.is_complete());
  SAME(collector.write_some(content), 0u);
  CHECK(is_painted(collector.finish().data()));
  collector.reset();
  THROWS(long_, collector.write(content));
  SAME(collector.take_partial().size(), 10u);
}

TEST(each_state_refuses_what_does_not_fit)
{
  brimful::options options;
  options.length = 4;
  brimful::collector collector(options);
  CHECK(!collector.is_complete());
  THROWS(state, collector.finish());
  THROWS(state, collector.finish_exact());
  THROWS(state, collector.commit(0));
  const bytes window = collector.reserve(100);
  CHECK(window.data() == collector.reserve().data());
  THROWS(state, collector.read(source{1}));
  THROWS(state, collector.write("x"));
  THROWS(state, collector.end());
  THROWS(state, collector.take_partial());
  collector.commit(0);
  THROWS(short_, collector.end());
  THROWS(short_, collector.is_complete());
  collector.reset();
  CHECK(collector.reserve().size() == 4);
  THROWS(contract, collector.commit(5));
  THROWS(contract, collector.reserve());
  collector.reset();
  collector.write("four");
  collector.end();
  THROWS(state, collector.reserve());
  SAME(collector.read(source{9}), status::ok);
  SAME(collector.finish().size(), 4u);
  CHECK(collector.is_complete());
  THROWS(state, collector.read(source{9}));
  THROWS(state, collector.end());
  SAME(collector.info().state, BRIMFUL_STATE_TAKEN);
}

TEST(a_source_that_stops_is_gone_on_with)
{
  brimful::collector collector{defaults};
  pausing it{source{10000, 1000}};
  int stops = 0;
  while (collector.read(it) == status::pending)
    stops++;
  SAME(stops, 10);
  SAME(collector.info().pendings, 10u);
  CHECK(is_painted(collector.finish().data()));
}

TEST(the_share_of_one_call_is_more)
{
  brimful::options options;
  options.max_step = 1000;
  options.max_window = 4096;
  brimful::collector collector(options);
  source it{2500};
  int calls = 1;
  while (collector.read(it) == status::more)
    calls++;
  SAME(calls, 3);
  SAME(collector.finish().size(), 2500u);
}

TEST(what_has_arrived_is_shown_before_the_end)
{
  const brimful::pool pool = list_pool();
  brimful::collector collector(defaults, pool);
  CHECK(collector.segments().empty());
  for (std::uint64_t offset = 0; offset < 200000; offset += 1000)
    collector.write(paint(offset, 1000));
  const brimful::segment_list list = collector.segments();
  CHECK(list.size() > 1);
  CHECK(is_painted(list));
  std::array<std::byte, 100> part;
  SAME(collector.copy(123456, part), part.size());
  CHECK(is_painted(part, 123456));
  SAME(collector.copy(199990, part), 10u);
  SAME(collector.copy(200000, part), 0u);
  const brimful::buffer partial = collector.take_partial();
  SAME(partial.size(), 200000u);
  CHECK(collector.segments().empty());
}

TEST(options_are_what_they_say)
{
  brimful::options options;
  options.limit = 10;
  THROWS(limit, brimful::collect(source{11}, options));
  SAME(brimful::collect(source{10}, options).size(), 10u);
  options.truncate = true;
  const brimful::buffer cut = brimful::collect(source{11}, options);
  CHECK(cut.truncated());
  SAME(cut.size(), 10u);
  SAME(cut.info().truncated, 1);

  options = {};
  options.limit = 0;
  SAME(brimful::collect(source{0}, options).size(), 0u);
  THROWS(limit, brimful::collect(source{1}, options));

  options = {};
  options.length = 5;
  THROWS(short_, brimful::collect(source{4}, options));
  source longer{6};
  SAME(brimful::collect(longer, options).size(), 5u);
  SAME(longer.given, 5u);
  options.end = brimful::ending::eof;
  THROWS(long_, brimful::collect(source{6}, options));

  options = {};
  options.length = UINT64_MAX; // an announcement, not "none"
  THROWS(limit, brimful::collect(source{4}, options));

  options = {};
  options.size_hint = 1;
  SAME(brimful::collect(source{100000}, options).size(), 100000u);

  options = {};
  options.max_window = 1;
  THROWS(invalid, brimful::collect(source{1}, options));
  options = {};
  options.first_block = 1;
  THROWS(invalid, brimful::collector(options));
  options = {};
  options.padding = 65537;
  THROWS(invalid, brimful::collect_exact(source{1}, options));
}

TEST(scrubbed_windows_are_clear)
{
  const brimful::pool pool;
  brimful::collect(source{100000}, defaults, pool);
  brimful::options options;
  options.scrub = true;
  bool clear = true;
  brimful::collect(
      [&](bytes window) {
        for (const std::byte byte : window)
          clear = clear && byte == std::byte{0};
        return 0;
      },
      options, pool);
  CHECK(clear);
}

TEST(info_is_filled_on_every_outcome)
{
  brimful::options options;
  brimful::info info;
  options.info = &info;
  options.limit = 10;
  brimful::collect(source{10}, options);
  SAME(info.status, BRIMFUL_OK);
  SAME(info.received, 10u);
  THROWS(limit, brimful::collect(source{20}, options));
  SAME(info.status, BRIMFUL_ERR_LIMIT);
  options.max_window = 1;
  THROWS(invalid, brimful::collect(source{20}, options));
  SAME(info.status, BRIMFUL_ERR_INVALID);
}

TEST(one_shot_functions_leave_the_collector_of_a_source_that_stops)
{
  brimful::buffer pooled;
  brimful::exact_buffer exact;
  brimful::collector rest;
  pausing first{source{5000, 1000}};
  SAME(brimful::collect(first, pooled, rest), status::pending);
  CHECK(!pooled);
  while (rest.read(first) == status::pending) {
  }
  SAME(rest.finish().size(), 5000u);

  pausing second{source{5000, 1000}};
  SAME(brimful::collect_exact(second, exact, rest), status::pending);
  while (rest.read(second) == status::pending) {
  }
  exact = rest.finish_exact();
  SAME(exact.size(), 5000u);
  CHECK(is_painted(exact));

  SAME(brimful::collect(source{77}, pooled, rest), status::ok);
  SAME(pooled.size(), 77u);
  CHECK(!rest);
  SAME(brimful::collect_exact(source{77}, exact, rest), status::ok);
  SAME(exact.size(), 77u);
  CHECK(!rest);
  THROWS(state, brimful::collect(pausing{source{5000, 1000}}));
  THROWS(state, brimful::collect_exact(pausing{source{5000, 1000}}));

  brimful::options options;
  options.max_step = 1000;
  source stepped{1500};
  SAME(brimful::collect(stepped, pooled, rest, options), status::more);
  SAME(rest.read(stepped), status::ok);
  SAME(rest.finish().size(), 1500u);
}

TEST(one_shot_functions_drop_what_their_results_were_before_also_when_nothing_began)
{
  brimful::buffer pooled = brimful::collect(source{10});
  brimful::exact_buffer exact = brimful::collect_exact(source{10});
  brimful::collector rest{defaults};
  std::size_t length = 99;
  brimful::options options;
  options.max_window = 1;
  THROWS(invalid, brimful::collect(source{10}, pooled, rest, options));
  CHECK(!pooled && !rest);
  rest = brimful::collector{defaults};
  THROWS(invalid, brimful::collect_exact(source{10}, exact, rest, options));
  CHECK(!exact && !rest);
  rest = brimful::collector{defaults};
  THROWS(invalid, brimful::collect_into(source{10}, bytes{}, length, rest, options));
  CHECK(!rest);
  SAME(length, 0u);
}

TEST(a_body_goes_into_memory_of_the_callers_and_no_further)
{
  std::vector<std::byte> memory(1002, std::byte{0xee});
  const bytes target = bytes(memory).subspan(1, 1000);
  SAME(brimful::collect_into(source{1000, 1}, target), 1000u);
  CHECK(is_painted(target));
  CHECK(memory.front() == std::byte{0xee} && memory.back() == std::byte{0xee});
  SAME(brimful::collect_into(source{300}, target), 300u);

  brimful::options options;
  brimful::info info;
  options.info = &info;
  THROWS(limit, brimful::collect_into(source{1001}, target, options));
  SAME(info.length, 1000u);
  CHECK(is_painted(target) && memory.back() == std::byte{0xee});
  SAME(brimful::collect_into(source{0}, bytes{}), 0u);
  THROWS(limit, brimful::collect_into(source{1}, bytes{}));

  brimful::collector rest;
  std::size_t length = 0;
  pausing it{source{900, 400}};
  SAME(brimful::collect_into(it, target, length, rest), status::pending);
  SAME(length, 400u);
  while (rest.read(it) == status::pending) {
  }
  SAME(rest.info().length, 900u);
  SAME(rest.finish().size(), 900u);
  THROWS(state, brimful::collect_into(pausing{source{900, 400}}, target));
}

TEST(a_collector_into_memory_of_the_callers_begins_there_again_after_reset_and_gives_exact_copies)
{
  counted_allocator allocator;
  brimful::options options;
  options.allocator = &allocator.c;
  options.padding = 8; // of no matter here, and the allocator is told so
  std::array<std::byte, 100> target;
  {
    brimful::collector collector = brimful::collector::into(target, options);
    collector.write(paint(0, 40));
    collector.end();
    const brimful::exact_buffer copy = collector.finish_exact();
    SAME(copy.size(), 40u);
    CHECK(copy.data() != target.data());
    collector.reset(options);
    SAME(collector.read(source{60}), status::ok);
    CHECK(is_painted(bytes(target).first(60)));
    SAME(collector.finish_exact().size(), 60u);
  }
  SAME(allocator.out, 0u);
  SAME(allocator.wrong_sizes, 0u);
}

TEST(read_fd_reads_a_pipe_to_its_end_and_stops_where_it_has_nothing)
{
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  brimful::collector collector{defaults};
  SAME(collector.read_fd(ends[0]), status::pending);
  const auto content = paint(0, 1000);
  CHECK(write(ends[1], content.data(), content.size()) == 1000);
  SAME(collector.read_fd(ends[0]), status::pending);
  SAME(collector.info().received, 1000u);
  close(ends[1]);
  SAME(collector.read_fd(ends[0]), status::ok);
  CHECK(is_painted(collector.finish().data()));
  close(ends[0]);
  collector.reset();
  try {
    collector.read_fd(ends[0]);
    MISSED();
  } catch (const brimful::error& error) {
    CHECK(error.code() == errc::source);
    SAME(error.source_error(), -EBADF);
  }
}

TEST(reset_begins_anew_with_the_same_options_or_others)
{
  brimful::options options;
  options.limit = 10;
  brimful::collector collector(options);
  THROWS(limit, collector.write(paint(0, 11)));
  collector.reset();
  THROWS(limit, collector.write(paint(0, 11)));
  collector.reset(defaults);
  collector.write(paint(0, 11));
  options.max_window = 1;
  THROWS(invalid, collector.reset(options));
  SAME(collector.info().received, 11u);
}

TEST(cancel_ends_bodies_from_another_thread_and_stays)
{
  brimful::cancel cancel;
  brimful::options options;
  options.cancel = &cancel;
  brimful::collector collector(options);
  const auto endless = [](bytes window) {
    std::this_thread::yield();
    window[0] = painted(0);
    return 1;
  };
  std::thread other([copy = cancel.retain()] { copy.trigger(); });
  THROWS(cancelled, collector.read(endless));
  other.join();
  THROWS(cancelled, brimful::collect(source{1}, options));
  collector.reset();
  THROWS(cancelled, collector.read(source{1}));
  SAME(collector.take_partial().size(), 0u);
  cancel.trigger();
}

TEST(a_cancel_may_go_before_the_body_that_it_was_given_to)
{
  brimful::collector collector;
  {
    brimful::cancel cancel;
    brimful::options options;
    options.cancel = &cancel;
    collector = brimful::collector(options);
    cancel.trigger();
  }
  THROWS(cancelled, collector.read(source{1}));
}
