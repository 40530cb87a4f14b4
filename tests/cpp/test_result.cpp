// Results: pooled and exact buffers, their pieces as ranges, slices, padding, allocators.
#include "check.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <thread>
#if defined(__cpp_lib_ranges)
#include <ranges>
#endif

using brimful::errc;

namespace {

const brimful::options defaults;

// A body that lies in several pieces.
brimful::buffer pieces(std::size_t length)
{
  return brimful::collect(source{length}, defaults, list_pool());
}

} // namespace

TEST(the_pieces_of_a_body_are_a_range_in_order)
{
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{100000}, std::size_t{3000000}}) {
    const brimful::buffer body = pieces(length);
    const brimful::segment_list list = body.segments();
    SAME(list.size(), body.segment_count());
    SAME(list.empty(), length == 0);
    std::uint64_t offset = 0;
    for (const brimful::span<const std::byte> piece : body.segments()) {
      CHECK(!piece.empty());
      CHECK(is_painted(piece, offset));
      offset += piece.size();
    }
    SAME(offset, length);
    if (length == 0)
      continue;
    CHECK(list.front().data() == list[0].data());
    CHECK(list.back().data() == list[list.size() - 1].data());
    SAME(static_cast<std::size_t>(std::distance(list.begin(), list.end())), list.size());
  }
}

TEST(algorithms_of_the_standard_library_take_the_pieces)
{
  const brimful::buffer body = pieces(1000000);
  const auto list = body.segments();
  const auto add = [](std::size_t sum, brimful::span<const std::byte> piece) { return sum + piece.size(); };
  SAME(std::accumulate(list.begin(), list.end(), std::size_t{0}, add), body.size());
  CHECK(std::none_of(list.begin(), list.end(), [](const auto& piece) { return piece.empty(); }));
}

TEST(lists_of_few_and_of_many_pieces_copy_and_move)
{
  for (const std::size_t count : {0u, 1u, 4u, 5u, 40u}) {
    const auto content = paint(0, count);
    brimful::segment_list list;
    for (std::size_t i = 0; i < count; i++)
      list.add(brimful_slice{&content[i], 1});
    brimful::segment_list copy = list;
    CHECK(is_painted(copy));
    const brimful::segment_list moved = std::move(copy);
    SAME(moved.size(), count);
    CHECK(is_painted(moved) && is_painted(list));
  }
}

TEST(more_pieces_than_are_fetched_at_once_are_all_shown)
{
  brimful::pool pool = list_pool();
  brimful::options options;
  options.first_block = 4096;
  brimful::queue queue(std::nullopt, pool);
  brimful::collector collector(options, pool);
  std::uint64_t offset = 0;
  for (int i = 0; i < 200; i++) {
    const auto part = paint(offset, 262144);
    SAME(queue.write(part).length, part.size());
    offset += part.size();
    CHECK(queue.move_to(collector).status == brimful::status::ok);
  }
  const auto arrived = collector.segments();
  CHECK(arrived.size() > 16);
  CHECK(is_painted(arrived));
  collector.end();
  const brimful::buffer body = collector.finish();
  SAME(body.segments().size(), body.segment_count());
  CHECK(is_painted(body.segments()));
}

#if defined(__cpp_lib_ranges)
static_assert(std::ranges::contiguous_range<brimful::segment_list>);
static_assert(std::ranges::sized_range<const brimful::segment_list>);
static_assert(std::ranges::contiguous_range<brimful::exact_buffer>);

TEST(the_pieces_work_with_std_ranges)
{
  const brimful::buffer body = pieces(1000000);
  const auto list = body.segments();
  SAME(std::ranges::max(list, {}, [](const auto& piece) { return piece.size(); }).size(),
       std::ranges::max_element(list, {}, [](const auto& piece) { return piece.size(); })->size());
  CHECK(std::ranges::all_of(list, [](const auto& piece) { return !piece.empty(); }));
#if !defined(__clang__) || __clang_major__ >= 16 // older ones do not understand the library's views
  std::uint64_t offset = 0;
  for (const std::byte byte : list | std::views::join)
    CHECK(byte == painted(offset++));
  SAME(offset, body.size());
  SAME(std::ranges::distance(body.segments() | std::views::join), 1000000);
#endif
}
#endif

TEST(one_piece_is_made_of_several_once_and_what_was_shown_stays_valid)
{
  const brimful::buffer body = pieces(1000000);
  const auto before = body.segments();
  CHECK(before.size() > 1);
  const auto first = body.data(), second = body.data();
  CHECK(first.data() == second.data());
  SAME(first.size(), body.size());
  CHECK(is_painted(first) && is_painted(before));
}

TEST(a_buffer_is_copied_in_parts)
{
  const brimful::buffer body = pieces(100000);
  std::array<std::byte, 777> part;
  SAME(body.copy(50000, part), part.size());
  CHECK(is_painted(part, 50000));
  SAME(body.copy(99999, part), 1u);
  SAME(body.copy(100000, part), 0u);
  SAME(body.copy(SIZE_MAX, part), 0u);
  SAME(body.copy(0, bytes{}), 0u);
}

TEST(text_is_seen_without_a_copy_and_padding_makes_it_a_c_string)
{
  brimful::options options;
  options.padding = 1;
  const std::string text = "text that lies in the buffer";
  brimful::collector collector(options);
  collector.write(text);
  collector.end();
  const brimful::buffer body = collector.finish();
  const std::string_view seen = body.view();
  CHECK(seen == text);
  SAME(std::strlen(seen.data()), text.size());
  CHECK(static_cast<const void*>(seen.data()) == static_cast<const void*>(body.data().data()));

  const brimful::exact_buffer copy = body.to_exact();
  CHECK(copy.view() == text);
  SAME(std::strlen(copy.view().data()), text.size());
  collector.reset();
  collector.write(text);
  collector.end();
  const brimful::exact_buffer exact = collector.finish_exact();
  CHECK(exact.view() == text);
  SAME(std::strlen(exact.view().data()), text.size());
  SAME(body.slice(5, 4).view(), std::string_view("that"));
}

TEST(slices_share_the_memory_and_outlive_what_they_were_cut_from)
{
  brimful::buffer slice, nested;
  {
    const brimful::buffer body = pieces(100000);
    slice = body.slice(1000, 50000);
    CHECK(slice.segments().front().data() == body.segments().front().data() + 1000);
    nested = slice.slice(10, 20);
    THROWS(invalid, body.slice(100000, 1));
    THROWS(invalid, body.slice(1, SIZE_MAX));
    SAME(body.slice(100000, 0).size(), 0u);
  }
  CHECK(is_painted(slice.segments(), 1000));
  slice.detach();
  SAME(slice.size(), 50000u);
  CHECK(is_painted(slice.data(), 1000));
  slice = {};
  CHECK(is_painted(nested.data(), 1010));
}

TEST(a_body_has_as_many_owners_as_wanted_on_any_thread)
{
  brimful::buffer body = pieces(100000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([mine = body.retain()] { CHECK(mine.size() == 100000 && is_painted(mine.segments())); });
  body = {};
  for (std::thread& thread : threads)
    thread.join();
}

TEST(an_exact_result_is_the_callers_to_change)
{
  brimful::exact_buffer exact = brimful::collect_exact(source{1000});
  CHECK(is_painted(exact));
  exact[0] = std::byte{'x'};
  std::fill(exact.begin() + 1, exact.end(), std::byte{'y'});
  CHECK(exact.view().substr(0, 3) == "xyy");
  const brimful::exact_buffer& constant = exact;
  CHECK(constant.data() == exact.data() && constant.begin() + 1000 == constant.end());
  CHECK(constant[999] == std::byte{'y'});
  const brimful::span<const std::byte> all = constant;
  SAME(all.size(), 1000u);
  CHECK(exact && !exact.empty());
}

TEST(an_exact_result_of_nothing_has_memory_and_an_empty_object_has_none)
{
  const brimful::exact_buffer nothing = brimful::collect_exact(source{0}), none;
  CHECK(nothing && nothing.data() != nullptr && nothing.empty());
  CHECK(!none && none.data() == nullptr && none.empty());
  CHECK(none.view().empty() && nothing.view().empty() && none.begin() == none.end());
}

TEST(exact_results_go_back_to_the_allocator_that_made_them_with_the_size_that_was_asked_for)
{
  for (const std::uint32_t padding : {0u, 1u, 64u}) {
    for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{300000}}) {
      counted_allocator allocator;
      brimful::options options;
      options.padding = padding;
      {
        // The struct itself may go as soon as the call that was given it returns.
        auto copy = std::make_unique<brimful_allocator>(allocator.c);
        options.allocator = copy.get();
        brimful::collector collector(options);
        brimful::exact_buffer one_shot = brimful::collect_exact(source{length}, options);
        brimful::collector rest;
        brimful::exact_buffer with_rest;
        brimful::collect_exact(source{length}, with_rest, rest, options);
        const brimful::buffer pooled = brimful::collect(source{length}, options);
        brimful::exact_buffer copied = pooled.to_exact(copy.get());
        brimful::exact_buffer of_slice = pooled.slice(0, length).to_exact(copy.get());
        brimful::collector partial(options);
        partial.write(paint(0, length));
        brimful::exact_buffer of_partial = partial.take_partial().to_exact(copy.get());
        copy.reset();
        collector.read(source{length, 1000});
        brimful::exact_buffer by_step = collector.finish_exact();
        for (const brimful::exact_buffer* exact : {&one_shot, &with_rest, &copied, &of_slice, &of_partial, &by_step}) {
          SAME(exact->size(), length);
          CHECK(is_painted(*exact));
        }
        SAME(allocator.out, 6u);
        by_step = std::move(one_shot);
        SAME(allocator.out, 5u);
        // What is given up is the caller's to free.
        std::byte* released = copied.release();
        CHECK(!copied && copied.size() == 0);
        allocator.c.deallocate(allocator.c.context, released, length + padding == 0 ? 1 : length + padding);
        const auto adopted = brimful::exact_buffer::adopt(with_rest.release(), length, &allocator.c, padding);
        SAME(adopted.size(), length);
      }
      SAME(allocator.out, 0u);
      SAME(allocator.wrong_sizes, 0u);
    }
  }
}

TEST(an_allocator_that_refuses_leaves_the_complete_body)
{
  counted_allocator allocator;
  allocator.refuse_from = 1000;
  brimful::options options;
  options.allocator = &allocator.c;
  brimful::exact_buffer exact;
  brimful::collector rest;
  THROWS(no_memory, brimful::collect_exact(source{100000}, exact, rest, options));
  CHECK(!exact);
  THROWS(no_memory, rest.finish_exact());
  const brimful::buffer body = rest.finish();
  SAME(body.size(), 100000u);
  CHECK(is_painted(body.segments()));
  THROWS(no_memory, body.to_exact(&allocator.c));
  try {
    brimful::collect_exact(source{100000}, options);
    MISSED();
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::not_enough_memory);
  }
  SAME(allocator.out, 0u);
}

TEST(exact_memory_that_is_given_up_is_freed_by_free)
{
  brimful::exact_buffer exact = brimful::collect_exact(source{100});
  std::free(exact.release());
  exact = brimful::exact_buffer::adopt(std::malloc(10), 10);
  SAME(exact.size(), 10u);
}
