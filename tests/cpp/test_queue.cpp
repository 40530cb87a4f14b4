// The queue between a producer and a reader.
#include "check.hpp"

#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

using brimful::status;

TEST(what_is_written_is_read_in_order_up_to_the_capacity)
{
  brimful::queue queue(10);
  const auto content = paint(0, 15);
  brimful::transfer written = queue.write(content);
  SAME(written.status, status::pending);
  SAME(written.length, 10u);
  CHECK(queue.reserve().empty());
  SAME(queue.length(), 10u);
  std::array<std::byte, 4> part;
  const auto [came, length] = queue.read(part);
  SAME(came, status::ok);
  SAME(length, 4u);
  CHECK(is_painted(part));
  written = queue.write(brimful::span<const std::byte>(content).subspan(10, 4));
  SAME(written.status, status::ok);
  SAME(written.length, 4u);
  std::array<std::byte, 20> rest;
  SAME(queue.read(rest).length, 10u);
  CHECK(is_painted(bytes(rest).first(10), 4));
  SAME(queue.read(rest).status, status::pending);
  SAME(queue.write(content).length, 10u);
  SAME(queue.read(bytes{}).status, status::more);
}

TEST(windows_are_filled_at_the_tail_and_waiting_bytes_are_shown_where_they_lie)
{
  brimful::queue queue;
  SAME(queue.peek().status, status::pending);
  std::uint64_t offset = 0;
  while (offset < 200000) {
    const bytes window = queue.reserve(1000);
    CHECK(!window.empty());
    const auto content = paint(offset, window.size());
    std::memcpy(window.data(), content.data(), content.size());
    queue.commit(content.size());
    offset += content.size();
  }
  queue.end();
  THROWS(state, queue.write(paint(0, 1)));
  THROWS(state, queue.end());
  std::uint64_t seen = 0;
  for (;;) {
    const brimful::waiting shown = queue.peek();
    SAME(shown.status, status::ok);
    if (shown.pieces.empty())
      break;
    CHECK(is_painted(shown.pieces, seen));
    std::size_t length = 0;
    for (const auto piece : shown.pieces)
      length += piece.size();
    queue.skip(length);
    seen += length;
  }
  SAME(seen, offset);
  THROWS(invalid, queue.skip(1));
  SAME(queue.read(bytes{}).length, 0u);
}

TEST(the_reader_sees_the_producers_error_after_the_last_byte)
{
  brimful::queue queue;
  SAME(queue.write(paint(0, 100)).length, 100u);
  queue.end(-1234);
  std::array<std::byte, 200> target;
  SAME(queue.read(target).length, 100u);
  for (int i = 0; i < 2; i++) {
    try {
      static_cast<void>(queue.read(target));
      MISSED();
    } catch (const brimful::error& error) {
      SAME(error.code().value(), -1234);
      CHECK(error.code().category() == brimful::error_category());
    }
  }
  brimful::queue ours;
  ours.end(BRIMFUL_ERR_LIMIT);
  THROWS(limit, ours.peek());
  THROWS(invalid, brimful::queue().end(1));
  THROWS(invalid, brimful::queue(0));
}

TEST(a_commit_beyond_the_window_ends_the_queue)
{
  brimful::queue queue;
  THROWS(state, queue.commit(1));
  const std::size_t room = queue.reserve().size();
  THROWS(state, queue.write(paint(0, 1)));
  THROWS(contract, queue.commit(room + 1));
  THROWS(contract, queue.peek());
}

TEST(what_waits_moves_to_collectors_value_by_value)
{
  brimful::queue queue;
  SAME(queue.write(paint(0, 25)).length, 25u);
  queue.end();
  brimful::options options;
  options.length = 10;
  brimful::collector collector(options);
  for (std::uint64_t value = 0; value < 2; value++) {
    const brimful::transfer moved = queue.move_to(collector);
    SAME(moved.status, status::ok);
    SAME(moved.length, 10u);
    SAME(queue.move_to(collector).status, status::more);
    CHECK(is_painted(collector.finish().data(), value * 10));
    collector.reset();
  }
  SAME(queue.move_to(collector).length, 5u);
  const brimful::transfer end = queue.move_to(collector);
  SAME(end.status, status::ok);
  SAME(end.length, 0u);
  THROWS(short_, collector.end());
  SAME(collector.take_partial().size(), 5u);
}

TEST(two_threads_share_a_queue_behind_a_lock)
{
  constexpr std::uint64_t total = 3000000;
  const brimful::pool pool;
  brimful::queue queue(100000, pool);
  brimful::collector collector(brimful::options{}, pool);
  std::mutex mutex;
  std::condition_variable changed;

  std::thread producer([&] {
    for (std::uint64_t offset = 0; offset < total;) {
      std::unique_lock<std::mutex> lock(mutex);
      bytes window;
      changed.wait(lock, [&] { return !(window = queue.reserve()).empty(); });
      lock.unlock(); // filling a window needs no lock
      const auto content = paint(offset, static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), total - offset)));
      std::memcpy(window.data(), content.data(), content.size());
      offset += content.size();
      lock.lock();
      queue.commit(content.size());
      changed.notify_one();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    queue.end();
    changed.notify_one();
  });
  for (bool ended = false; !ended;) {
    std::unique_lock<std::mutex> lock(mutex);
    brimful::transfer moved{};
    changed.wait(lock, [&] { return (moved = queue.move_to(collector)).status != status::pending; });
    ended = moved.length == 0;
    changed.notify_one();
  }
  producer.join();
  collector.end();
  const brimful::buffer body = collector.finish();
  SAME(body.size(), total);
  CHECK(is_painted(body.segments()));
  SAME(body.info().copied, 0u);
}
