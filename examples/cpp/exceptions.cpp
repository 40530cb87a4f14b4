// What a source throws comes out of the call around it, and what had come before it is not lost.
//
//     exceptions LIMIT < FILE     reads lines of text; a byte that is no ASCII is refused by the source itself
#include <brimful.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

struct not_ascii : std::runtime_error {
  explicit not_ascii(unsigned long long offset)
      : std::runtime_error("byte " + std::to_string(offset) + " is no ASCII") {}
};

// A source with a state of its own, which reads standard input and looks at every byte.
class ascii_input {
public:
  std::size_t operator()(brimful::span<std::byte> window) {
    const std::size_t count = std::fread(window.data(), 1, window.size(), stdin);
    if (std::ferror(stdin))
      throw std::runtime_error("standard input cannot be read");
    for (std::size_t i = 0; i < count; i++) {
      if (std::to_integer<unsigned>(window[i]) > 127)
        throw not_ascii(offset_ + i); // a call that throws brings no bytes
    }
    offset_ += count;
    return count;
  }

private:
  unsigned long long offset_ = 0;
};

} // namespace

int main(int count, char** arguments) {
  brimful::options options;
  options.max_window = 4096;
  if (count > 1)
    options.limit = std::strtoull(arguments[1], nullptr, 10);
  brimful::buffer body;
  brimful::collector rest;
  try {
    brimful::collect(ascii_input(), body, rest, options);
    std::printf("%zu bytes\n", body.size());
    return 0;
  } catch (const not_ascii& exception) { // the source's own, unchanged
    std::printf("%s; ", exception.what());
  } catch (const brimful::error& error) {
    if (error.code() != brimful::errc::limit)
      throw;
    std::printf("too long; ");
  }
  std::printf("%zu bytes had come\n", rest.take_partial().size());
  return 1;
}
