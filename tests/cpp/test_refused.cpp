// Every request for memory refused in turn, as in C (tests/c/test_refused.c): each member that can need memory throws
// errc::no_memory, or std::bad_alloc where the header itself had none, has changed nothing, and works when called again.
// Requests are refused by tests/interposer, which is loaded beside the tests.
#include "check.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <unistd.h>

extern "C" {
[[gnu::weak]] std::uint64_t interpose_fail(std::uint64_t nth, int forever);
[[gnu::weak]] std::int64_t interpose_live();
}

namespace {

bool forever; // whether memory stays refused until a call has been refused twice
int refused;  // calls that were, in this run

template <class Call> bool is_refused(Call&& call)
{
  try {
    call();
    return false;
  } catch (const std::bad_alloc&) {
  } catch (const brimful::error& error) {
    CHECK(error.code() == brimful::errc::no_memory && error.code() == std::errc::not_enough_memory);
  }
  refused++;
  return true;
}

void memory_is_back()
{
  if (forever)
    interpose_fail(0, 0);
}

// A call that may be refused, and is then made again.
template <class Call> void again(Call&& call)
{
  if (!is_refused(call))
    return;
  if (forever)
    CHECK(is_refused(call));
  memory_is_back();
  call();
}

std::array<std::byte, 300000> body;
std::array<std::byte, 300000> target;

brimful::span<const std::byte> part(std::size_t from, std::size_t length)
{
  return {body.data() + from, length};
}

bool pieces_are_painted(const brimful::buffer& buffer, std::size_t offset, std::size_t length)
{
  brimful_slice piece;
  std::size_t seen = 0;
  for (std::size_t i = 0; brimful_buffer_segments(buffer.get(), i, &piece, 1) == 1; i++) {
    const auto* bytes = static_cast<const std::byte*>(piece.data);
    if (seen + piece.length > length || !std::equal(bytes, bytes + piece.length, body.data() + offset + seen))
      return false;
    seen += piece.length;
  }
  return seen == length;
}

bool is_part(const std::byte* bytes, std::size_t offset, std::size_t length)
{
  return std::equal(bytes, bytes + length, body.data() + offset);
}

void steps(const brimful::pool& pool)
{
  brimful::collector collector;
  brimful::buffer buffer, slice;
  brimful::exact_buffer exact;
  brimful::segment_list pieces;
  again([&] { collector = brimful::collector(brimful::options(), pool); });
  again([&] { collector.write(part(0, 3)); });
  for (std::size_t at = 3; at < body.size();) {
    brimful::span<std::byte> window;
    again([&] { window = collector.reserve(50000); });
    const std::size_t filled = std::min(window.size(), body.size() - at) / 2;
    std::copy_n(body.data() + at, filled, window.data());
    again([&] { collector.commit(filled); });
    at += filled;
    const std::size_t more = std::min<std::size_t>(body.size() - at, 30000);
    again([&] { SAME(collector.write_some(part(at, more)), more); });
    at += more;
  }
  again([&] { pieces = collector.segments(); });
  CHECK(is_painted(pieces));
  again([&] { collector.end(); });
  again([&] { buffer = collector.finish(); });
  again([&] { pieces = buffer.segments(); });
  CHECK(pieces_are_painted(buffer, 0, body.size()));
  again([&] { CHECK(is_part(buffer.data().data(), 0, body.size())); });
  again([&] { SAME(buffer.view().size(), body.size()); });
  again([&] { slice = buffer.slice(1000, 100000); });
  again([&] { slice.detach(); });
  CHECK(pieces_are_painted(slice, 1000, 100000));
  again([&] { exact = slice.to_exact(); });
  CHECK(exact.size() == 100000 && is_part(exact.data(), 1000, 100000));
  again([&] { exact = slice.decode("windows-1252"); });
  again([&] { exact = slice.decode("utf-8", brimful::fault::replace); });
  again([&] { collector.reset(); });
  again([&] { collector.write(part(0, 20000)); });
  again([&] { buffer = collector.take_partial(); });
  CHECK(pieces_are_painted(buffer, 0, 20000));
}

void sources(const brimful::pool& pool, bool known, bool exact)
{
  brimful::options options;
  brimful::cancel cancel = brimful::cancel::adopt(nullptr);
  brimful::collector collector;
  std::size_t given = 0;
  auto source = [&given](bytes window) {
    const std::size_t count = std::min({window.size(), body.size() - given, std::size_t{7000}});
    std::copy_n(body.data() + given, count, window.data());
    given += count;
    return count;
  };
  again([&] { cancel = brimful::cancel(); });
  options.cancel = &cancel;
  options.prefer_exact = exact;
  options.padding = 64;
  if (known)
    options.length = body.size();
  again([&] { collector = brimful::collector(options, pool); });
  again([&] { SAME(collector.read(source), brimful::status::ok); });
  SAME(given, body.size());
  if (exact) {
    brimful::exact_buffer whole;
    again([&] { whole = collector.finish_exact(); });
    CHECK(whole.size() == body.size() && is_part(whole.data(), 0, whole.size()));
  } else {
    brimful::buffer whole;
    again([&] { whole = collector.finish(); });
    CHECK(pieces_are_painted(whole, 0, body.size()));
  }
  given = 0;
  again([&] { collector.reset(options); });
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0 || write(ends[1], body.data(), 40000) != 40000)
    check::failed(__FILE__, __LINE__, "a pipe");
  close(ends[1]);
  options.length.reset();
  again([&] { collector.reset(options); });
  again([&] { SAME(collector.read_fd(ends[0]), brimful::status::ok); });
  close(ends[0]);
  brimful::buffer file;
  again([&] { file = collector.finish(); });
  CHECK(pieces_are_painted(file, 0, 40000));
}

// One-shot functions without a place for the rest begin anew; those with one go on, or begin anew where there was no
// memory even for that.
void one_shots(const brimful::pool& pool)
{
  std::size_t given = 0, length = 0;
  auto source = [&given](bytes window) {
    const std::size_t count = std::min(window.size(), body.size() - given);
    std::copy_n(body.data() + given, count, window.data());
    given += count;
    return count;
  };
  brimful::buffer pooled;
  brimful::exact_buffer exact;
  brimful::collector rest;
  const auto whole = [&] { return brimful::span<std::byte>(target.data(), target.size()); };
  again([&] { given = 0, pooled = brimful::collect(source, {}, pool); });
  CHECK(pieces_are_painted(pooled, 0, body.size()));
  again([&] { given = 0, exact = brimful::collect_exact(source, {}, pool); });
  CHECK(is_part(exact.data(), 0, body.size()));
  again([&] { given = 0, length = brimful::collect_into(source, whole()); });
  CHECK(length == body.size() && is_part(target.data(), 0, length));

  const auto with_rest = [&](auto&& call, auto&& finish) {
    bool done = false;
    for (int tries = 0; !done && tries < 3; tries++) {
      given = 0;
      done = !is_refused(call);
      if (done)
        return;
      if (tries == 1)
        memory_is_back();
      if (rest) {
        again([&] { SAME(rest.read(source), brimful::status::ok); });
        again(finish);
        done = true;
      }
    }
    CHECK(done);
  };
  with_rest([&] { SAME(brimful::collect(source, pooled, rest, {}, pool), brimful::status::ok); },
            [&] { pooled = rest.finish(); });
  CHECK(pieces_are_painted(pooled, 0, body.size()));
  with_rest([&] { SAME(brimful::collect_exact(source, exact, rest, {}, pool), brimful::status::ok); },
            [&] { exact = rest.finish_exact(); });
  CHECK(exact.size() == body.size() && is_part(exact.data(), 0, body.size()));
  with_rest([&] { SAME(brimful::collect_into(source, whole(), length, rest), brimful::status::ok); },
            [&] { pooled = rest.finish(); });
  CHECK(is_part(target.data(), 0, body.size()));
  again([&] { rest = brimful::collector::into(whole()); });
  again([&] { rest.write(part(0, 1000)); });
  again([&] { pooled = rest.take_partial(); });
  CHECK(pieces_are_painted(pooled, 0, 1000));
}

void queues(const brimful::pool& pool)
{
  brimful::queue queue = brimful::queue::adopt(nullptr);
  brimful::collector collector;
  brimful::buffer buffer;
  brimful::span<std::byte> window;
  again([&] { queue = brimful::queue(1 << 20, pool); });
  again([&] { SAME(queue.write(part(0, 100000)).length, std::size_t{100000}); });
  again([&] { window = queue.reserve(60000); });
  const std::size_t filled = std::min(window.size(), std::size_t{1000});
  std::copy_n(body.data() + 100000, filled, window.data());
  again([&] { queue.commit(filled); });
  again([&] { SAME(queue.read({target.data(), 1000}).length, std::size_t{1000}); });
  again([&] { CHECK(!queue.peek().pieces.empty()); });
  again([&] { queue.skip(500); });
  again([&] { queue.end(); });
  again([&] { collector = brimful::collector({}, pool); });
  while (queue.length() > 0)
    again([&] { static_cast<void>(queue.move_to(collector)); });
  again([&] { collector.end(); });
  again([&] { buffer = collector.finish(); });
  CHECK(pieces_are_painted(buffer, 1500, 100000 + filled - 1500));
}

void everything(bool list)
{
  brimful::pool_options options;
  brimful::pool pool = brimful::pool::adopt(nullptr);
  options.list = list;
  again([&] { pool = brimful::pool(options); });
  steps(pool);
  for (int way = 0; way < 4; way++)
    sources(pool, way % 2 == 1, way / 2 == 1);
  pool.trim(0);
  one_shots(pool);
  pool.trim(0);
  queues(pool);
  pool.trim(0);
  const brimful::pool_statistics numbers = pool.stats();
  SAME(numbers.outstanding, 0U);
  SAME(numbers.retained_bytes, 0U);
  SAME(numbers.allocated, numbers.freed);
  SAME(numbers.allocated_bytes, numbers.freed_bytes);
}

std::uint64_t refuse(std::uint64_t nth, bool list)
{
  refused = 0;
  interpose_fail(nth, forever);
  everything(list);
  const std::uint64_t made = interpose_fail(0, 0);
  brimful::pool::process_default().trim(0);
  return made;
}

} // namespace

TEST(each_request_for_memory_is_refused_in_turn_and_every_member_called_again_works)
{
  if (interpose_fail == nullptr)
    return; // under a sanitizer, which has the place of the interposer; the plain run has it
  for (std::size_t i = 0; i < body.size(); i++)
    body[i] = painted(i);
  for (const bool list : {false, true}) {
    forever = false;
    const std::uint64_t last = refuse(0, list);
    CHECK(last > 50);
    for (const bool on : {false, true}) {
      std::uint64_t refusals = 0;
      forever = on;
      for (std::uint64_t nth = 1; nth <= last; nth++) {
        refuse(nth, list); // after this the default pool's own lists are as long as they get
        const std::int64_t live = interpose_live();
        refuse(nth, list);
        SAME(interpose_live(), live);
        refusals += refused > 0;
      }
      CHECK(refusals > last / 3); // the others were for guesses, which the library does without
    }
  }
}
