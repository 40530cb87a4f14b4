// c++ -std=c++17 istream.cpp $(pkg-config --cflags --libs brimful) && ./a.out < FILE
#include <brimful.hpp>
#include <iostream>

int main() {
  brimful::options options;
  options.limit = 100000000; // one byte more is brimful::errc::limit
  try {
    const brimful::buffer body = brimful::collect([](brimful::span<std::byte> window) {
      std::cin.read(reinterpret_cast<char*>(window.data()), static_cast<std::streamsize>(window.size()));
      return std::cin.gcount(); // 0 is the end
    }, options);
    std::cout << body.view().size() << " bytes in one piece\n";
  } catch (const std::system_error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
