// The same in C++.

#include <brimful.h>

#include <iostream>
#include <vector>

namespace {

brimful_status from_stream(void *stream, void *window, size_t room, size_t *filled) {
  auto *input = static_cast<std::istream *>(stream);
  input->read(static_cast<char *>(window), static_cast<std::streamsize>(room));
  *filled = static_cast<size_t>(input->gcount());
  return input->bad() ? -1 : BRIMFUL_OK;
}

}  // namespace

int main() {
  brimful_buffer *body = nullptr;
  brimful_status status = brimful_collect(nullptr, nullptr, from_stream, &std::cin, &body, nullptr);
  if (status != BRIMFUL_OK) {
    std::cerr << brimful_status_text(status) << '\n';
    return 1;
  }
  std::vector<brimful_slice> slices(brimful_buffer_segment_count(body));
  brimful_buffer_segments(body, 0, slices.data(), slices.size());
  unsigned sum = 0;
  for (const brimful_slice &slice : slices) {
    const auto *bytes = static_cast<const unsigned char *>(slice.data);
    for (size_t at = 0; at < slice.length; at++) sum += bytes[at];
  }
  std::cout << brimful_version() << ' ' << brimful_status_name(BRIMFUL_ERR_LIMIT) << ' '
            << static_cast<int>(brimful_version_number() - BRIMFUL_VERSION_NUMBER) << ": " << brimful_buffer_length(body)
            << " bytes, sum " << sum << '\n';
  brimful_buffer_release(body);
}
