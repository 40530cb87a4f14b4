// Handles: moving, what is left behind, pools, C handles in and out.
#include "check.hpp"

#include <memory>
#include <thread>

using brimful::errc;

namespace {

template <class Handle> constexpr bool moves_only =
    std::is_nothrow_move_constructible_v<Handle> && std::is_nothrow_move_assignable_v<Handle> &&
    !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle>;

static_assert(moves_only<brimful::pool> && moves_only<brimful::cancel> && moves_only<brimful::collector>);
static_assert(moves_only<brimful::buffer> && moves_only<brimful::exact_buffer> && moves_only<brimful::queue>);
static_assert(std::is_nothrow_default_constructible_v<brimful::buffer>);
static_assert(std::is_nothrow_default_constructible_v<brimful::collector>);

// Moves there and back, and through itself; what was moved from is empty.
template <class Handle> void moves(Handle first)
{
  const auto* handle = first.get();
  Handle second = std::move(first);
  CHECK(!first && second);
  CHECK(second.get() == handle);
  first = std::move(second);
  CHECK(first && !second);
  Handle& same = first;
  first = std::move(same);
  CHECK(first.get() == handle);
  second = std::move(first);
  std::swap(first, second);
  CHECK(first.get() == handle && !second);
  const auto back = Handle::adopt(first.release());
  CHECK(!first && back.get() == handle);
  CHECK(!Handle::adopt(nullptr));
}

} // namespace

TEST(every_handle_moves_and_leaves_an_empty_one)
{
  moves(brimful::pool());
  moves(brimful::pool::process_default());
  moves(brimful::cancel());
  moves(brimful::collector(brimful::options{}));
  moves(brimful::collect(source{100000}));
  moves(brimful::queue());
}

TEST(an_exact_buffer_moves_and_leaves_an_empty_one)
{
  brimful::exact_buffer first = brimful::collect_exact(source{1000});
  const std::byte* data = first.data();
  brimful::exact_buffer second = std::move(first);
  CHECK(!first && first.size() == 0 && second.data() == data);
  first = std::move(second);
  brimful::exact_buffer& same = first;
  first = std::move(same);
  CHECK(first.data() == data && first.size() == 1000);
  CHECK(!second && second.release() == nullptr);
}

TEST(a_collector_that_was_moved_from_throws_and_does_not_crash)
{
  brimful::collector from{brimful::options{}};
  const brimful::collector to = std::move(from);
  source never{1};
  THROWS(invalid, from.read(never));
  SAME(never.given, 0u);
  THROWS(invalid, from.read_fd(0));
  THROWS(invalid, from.reserve());
  THROWS(invalid, from.commit(0));
  THROWS(invalid, from.write("x"));
  THROWS(invalid, from.write_some(bytes{}));
  THROWS(invalid, from.end());
  THROWS(invalid, from.is_complete());
  THROWS(invalid, from.finish());
  THROWS(invalid, from.finish_exact());
  THROWS(invalid, from.take_partial());
  THROWS(invalid, from.reset());
  THROWS(invalid, from.reset(brimful::options{}));
  THROWS(invalid, from.info());
  std::byte one[1];
  SAME(from.copy(0, one), 0u);
  CHECK(from.segments().empty());
  CHECK(from.get() == nullptr && from.release() == nullptr);
  SAME(to.info().received, 0u);
}

TEST(a_buffer_that_was_moved_from_is_empty_and_throws_where_a_body_is_needed)
{
  brimful::buffer from = brimful::collect(source{10});
  const brimful::buffer to = std::move(from);
  SAME(from.size(), 0u);
  CHECK(from.empty() && !from.truncated());
  SAME(from.segment_count(), 0u);
  CHECK(from.segments().empty());
  std::byte one[1];
  SAME(from.copy(0, one), 0u);
  THROWS(invalid, from.data());
  THROWS(invalid, from.view());
  THROWS(invalid, from.info());
  THROWS(invalid, from.to_exact());
  THROWS(invalid, from.slice(0, 0));
  THROWS(invalid, from.detach());
  THROWS(invalid, from.decode());
  CHECK(!from.retain());
  CHECK(to.size() == 10 && !to.empty());
}

TEST(a_pool_that_was_moved_from_is_not_taken_for_the_default_one)
{
  brimful::pool from;
  const brimful::pool to = std::move(from);
  THROWS(invalid, from.stats());
  THROWS(invalid, from.trim());
  THROWS(invalid, brimful::collector(brimful::options{}, from));
  THROWS(invalid, brimful::collect(source{1}, {}, from));
  THROWS(invalid, brimful::collect_exact(source{1}, {}, from));
  brimful::buffer body;
  brimful::exact_buffer exact;
  brimful::collector rest;
  THROWS(invalid, brimful::collect(source{1}, body, rest, {}, from));
  THROWS(invalid, brimful::collect_exact(source{1}, exact, rest, {}, from));
  THROWS(invalid, brimful::queue(10, from));
  SAME(to.stats().rented, 0u);
}

TEST(a_cancel_that_was_moved_from_does_nothing_and_is_refused_as_an_option)
{
  brimful::cancel from;
  const brimful::cancel to = std::move(from);
  from.trigger();
  CHECK(!from.retain());
  brimful::options options;
  options.cancel = &from;
  THROWS(invalid, brimful::collect(source{1}, options));
  THROWS(invalid, brimful::collector(options));
  std::byte one[1];
  THROWS(invalid, brimful::collector::into(one, options));
  THROWS(invalid, brimful::collect_into(source{1}, one, options));
  options.cancel = &to;
  SAME(brimful::collect(source{1}, options).size(), 1u);
}

TEST(a_queue_that_was_moved_from_throws_and_does_not_crash)
{
  brimful::queue from;
  const brimful::queue to = std::move(from);
  std::byte one[1]{};
  brimful::collector collector{brimful::options{}};
  THROWS(invalid, from.write(one));
  THROWS(invalid, from.reserve());
  THROWS(invalid, from.commit(0));
  THROWS(invalid, from.end());
  THROWS(invalid, from.read(one));
  THROWS(invalid, from.peek());
  THROWS(invalid, from.skip(0));
  THROWS(invalid, from.move_to(collector));
  SAME(from.length(), 0u);
  brimful::queue filled;
  brimful::collector moved;
  THROWS(invalid, filled.move_to(moved));
  SAME(to.length(), 0u);
}

TEST(a_pool_counts_recycles_and_trims)
{
  const brimful::pool pool;
  for (int i = 0; i < 5; i++)
    SAME(brimful::collect(source{100000}, {}, pool).size(), 100000u);
  brimful::pool_statistics stats = pool.stats();
  CHECK(stats.reused > 0 && stats.outstanding == 0 && stats.retained_bytes > 0);
  SAME(pool.trim(), stats.retained_bytes);
  stats = pool.stats();
  SAME(stats.retained_bytes, 0u);
  SAME(stats.allocated_bytes, stats.freed_bytes);
}

TEST(options_of_a_pool_are_what_they_say)
{
  brimful::pool_options options;
  options.limit = 100;
  options.max_retained = 0;
  options.scrub = true;
  options.idle = std::chrono::milliseconds(0);
  {
    const brimful::pool pool(options);
    SAME(brimful::collect(source{100}, {}, pool).size(), 100u);
    THROWS(limit, brimful::collect(source{101}, {}, pool));
    brimful::options own;
    own.limit = 101;
    SAME(brimful::collect(source{101}, own, pool).size(), 101u);
    SAME(pool.stats().retained_bytes, 0u);
  }
  options = {};
  options.budget = 100000;
  const brimful::pool bounded(options);
  brimful::buffer body;
  brimful::collector rest;
  source it{1000000};
  THROWS(budget, brimful::collect(it, body, rest, {}, bounded));
  SAME(rest.take_partial().size(), it.given);
  CHECK(bounded.stats().refused > 0);

  options = {};
  options.idle = std::chrono::milliseconds(-1);
  THROWS(invalid, brimful::pool(options));
  options = {};
  brimful_allocator nothing{};
  nothing.struct_size = sizeof nothing;
  options.allocator = &nothing;
  THROWS(invalid, brimful::pool(options));
}

TEST(blocks_come_from_the_allocator_of_the_pool)
{
  counted_allocator allocator;
  {
    brimful::pool_options options;
    options.allocator = &allocator.c;
    brimful::pool pool(options);
    const brimful::buffer body = brimful::collect(source{100000}, {}, pool);
    CHECK(allocator.out > 0);
    pool = brimful::pool(); // what is out stays valid
    CHECK(is_painted(body.segments()));
  }
  SAME(allocator.out, 0u);
  SAME(allocator.wrong_sizes, 0u);
}

TEST(a_pool_is_shared_by_threads)
{
  const brimful::pool pool;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      for (int body = 0; body < 50; body++)
        CHECK(is_painted(brimful::collect(source{50000, 999}, {}, pool).segments()));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  SAME(pool.stats().outstanding, 0u);
}

TEST(buffers_collectors_and_queues_outlive_their_pool)
{
  auto pool = std::make_unique<brimful::pool>();
  const brimful::buffer body = brimful::collect(source{100000}, {}, *pool);
  brimful::collector collector(brimful::options{}, *pool);
  brimful::queue queue(std::nullopt, *pool);
  pool.reset();
  collector.read(source{100000});
  CHECK(is_painted(body.data()) && is_painted(collector.finish().data()));
  SAME(queue.write(paint(0, 1000)).length, 1000u);
}
