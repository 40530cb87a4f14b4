/*
 * boost::beast's multi_buffer, filled in place with prepare and commit as the page of the class shows
 * (https://www.boost.org/doc/libs/release/libs/beast/doc/html/beast/ref/boost__beast__multi_buffer.html), with the sizes
 * that beast's own read operations ask for (read_size: 512 to 65536 bytes, as much as there is room).
 */
#include "job.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/multi_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <cstdlib>

namespace net = boost::asio;
using boost::beast::multi_buffer;

static void fill(struct job *job, multi_buffer &buffer)
{
  for (;;) {
    std::size_t came = 0;
    for (auto window : boost::beast::buffers_range_ref(buffer.prepare(boost::beast::read_size(buffer, 65536)))) {
      std::size_t filled = 0;
      source_read(job, window.data(), window.size(), &filled);
      came += filled;
      if (filled < window.size())
        break;
    }
    if (came == 0)
      return;
    buffer.commit(came);
  }
}

static void in_pieces(struct job *job)
{
  multi_buffer buffer;
  fill(job, buffer);
  for (auto piece : boost::beast::buffers_range_ref(buffer.data()))
    show(job, piece.data(), piece.size());
}

static void exact(struct job *job)
{
  std::size_t length;
  void *memory;
  {
    multi_buffer buffer;
    fill(job, buffer);
    length = buffer.size();
    memory = std::malloc(length > 0 ? length : 1);
    net::buffer_copy(net::buffer(memory, length), buffer.data());
  }
  show(job, memory, length);
  std::free(memory);
}

extern "C" const struct row rows[] = {
  { "beast-multi-buffer", in_pieces, nullptr, nullptr, nullptr },
  { "beast-multi-buffer-exact", exact, nullptr, nullptr, nullptr },
  { nullptr, nullptr, nullptr, nullptr, nullptr },
};
