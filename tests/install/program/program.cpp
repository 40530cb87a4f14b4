// The same in C++, with the C++ header.

#include <brimful.hpp>

#include <iostream>

int main() {
  const auto from_stream = [](brimful::span<std::byte> window) -> std::size_t {
    std::cin.read(reinterpret_cast<char *>(window.data()), static_cast<std::streamsize>(window.size()));
    return static_cast<std::size_t>(std::cin.gcount());
  };
  try {
    const brimful::buffer body = brimful::collect(from_stream);
    unsigned sum = 0;
    for (const brimful::span<const std::byte> piece : body.segments()) {
      for (const std::byte byte : piece) sum += std::to_integer<unsigned>(byte);
    }
    std::cout << brimful_version() << ' ' << brimful_status_name(BRIMFUL_ERR_LIMIT) << ' '
              << brimful_version_number() - BRIMFUL_VERSION_NUMBER << ": " << body.size() << " bytes, sum " << sum << '\n';
  } catch (const brimful::error &error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
