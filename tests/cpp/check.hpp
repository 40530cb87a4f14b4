// Tests without a framework, as in C: a test's name is a sentence, TEST(a_sentence) { ... } in any file registers itself,
// and main (check.cpp) runs all of them. An exception that a test lets out fails it.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <brimful.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace check {

struct test {
  test(const char* name, void (*run)());
};

void failed(const char* file, int line, const std::string& what);

// An enumeration is told as its number.
template <class Value> auto told(const Value& value)
{
  if constexpr (std::is_enum_v<Value>)
    return static_cast<long long>(value);
  else
    return value;
}

template <class Came, class Expected>
void same(const char* file, int line, const char* what, const Came& came, const Expected& expected)
{
  if (came == expected)
    return;
  std::ostringstream text;
  text << what << ": expected " << told(expected) << ", came " << told(came);
  failed(file, line, text.str());
}

template <class Call> void throws(const char* file, int line, const char* what, brimful::errc expected, Call&& call)
{
  try {
    call();
    failed(file, line, std::string(what) + ": expected " + make_error_code(expected).message() + ", nothing was thrown");
  } catch (const brimful::error& error) {
    if (error.code() != expected)
      failed(file, line, std::string(what) + ": expected " + make_error_code(expected).message() + ", came " + error.what());
  }
}

} // namespace check

#define TEST(name)                                                                                                     \
  static void name();                                                                                                  \
  static const check::test register_##name(#name, name);                                                               \
  static void name()

/* Marks the test as failed and goes on. */
#define CHECK(...) ((__VA_ARGS__) ? (void)0 : check::failed(__FILE__, __LINE__, #__VA_ARGS__))

/* Two values that should be the same. */
#define SAME(came, ...) check::same(__FILE__, __LINE__, #came, (came), (__VA_ARGS__))

/* An expression that throws a brimful::error of this code. */
#define THROWS(code, ...)                                                                                              \
  check::throws(__FILE__, __LINE__, #__VA_ARGS__, brimful::errc::code, [&] { static_cast<void>(__VA_ARGS__); })

/* Behind what should have thrown. */
#define MISSED() check::failed(__FILE__, __LINE__, "nothing was thrown")

using bytes = brimful::span<std::byte>;

// Byte `index` of every body.
inline std::byte painted(std::uint64_t index)
{
  return static_cast<std::byte>(index % 251);
}

inline std::vector<std::byte> paint(std::uint64_t offset, std::size_t length)
{
  std::vector<std::byte> made(length);
  for (std::size_t i = 0; i < length; i++)
    made[i] = painted(offset + i);
  return made;
}

// Whether these are bytes `offset` on of a body.
template <class Range> bool is_painted(const Range& range, std::uint64_t offset = 0)
{
  for (const auto item : range) {
    if (static_cast<std::byte>(item) != painted(offset++))
      return false;
  }
  return true;
}

inline bool is_painted(const brimful::segment_list& list, std::uint64_t offset = 0)
{
  for (const auto piece : list) {
    if (!is_painted(piece, offset))
      return false;
    offset += piece.size();
  }
  return true;
}

// A source of `length` painted bytes, at most `each` at a time, which counts what it gave.
struct source {
  std::uint64_t length;
  std::size_t each = static_cast<std::size_t>(-1);
  std::uint64_t given = 0;

  std::size_t operator()(bytes window)
  {
    std::size_t count = window.size() < each ? window.size() : each;
    if (count > length - given)
      count = static_cast<std::size_t>(length - given);
    for (std::size_t i = 0; i < count; i++)
      window[i] = painted(given + i);
    given += count;
    return count;
  }
};

inline brimful::pool list_pool()
{
  brimful::pool_options options;
  options.list = true;
  return brimful::pool(options);
}

// Counts what is out, and refuses a size at deallocation that is not the one that was asked for.
struct counted_allocator {
  std::size_t out = 0, wrong_sizes = 0, refuse_from = static_cast<std::size_t>(-1);
  brimful_allocator c{};

  counted_allocator();
  counted_allocator(const counted_allocator&) = delete;
};

#endif
