// The second translation unit with the header, of another C++ than the tests: its buffers are other types.
#include "other_unit.hpp"

#include <algorithm>

const std::error_category& other_unit::category()
{
  return brimful::error_category();
}

std::size_t other_unit::collected(std::uint64_t length)
{
  const auto source = [&](brimful::span<std::byte> window) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(length, window.size()));
    std::fill(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(count), std::byte{7});
    length -= count;
    return count;
  };
  return brimful::collect(source).size();
}

void other_unit::fail()
{
  brimful::options options;
  options.length = 2;
  brimful::collect([](brimful::span<std::byte>) { return 0; }, options);
}
