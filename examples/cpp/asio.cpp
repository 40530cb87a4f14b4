// Whole bodies from many connections in one loop of Boost.Asio: async_read_some reads straight into the windows that
// reserve() gives, and commit() takes them back, so no byte is copied on the way.
//
//     asio HOST PORT COUNT LIMIT     opens COUNT connections and reads each until the peer closes it
//
// Needs libboost-dev only: Boost.Asio is used as a header.
#include <brimful.hpp>

#include <boost/asio.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

using boost::asio::ip::tcp;

namespace {

// Adler-32 over the pieces of a body where they lie.
std::uint32_t adler32(const brimful::segment_list& pieces) {
  std::uint32_t low = 1, high = 0;
  for (const auto piece : pieces) {
    for (const std::byte byte : piece) {
      low = (low + std::to_integer<std::uint32_t>(byte)) % 65521;
      high = (high + low) % 65521;
    }
  }
  return high << 16 | low;
}

class connection : public std::enable_shared_from_this<connection> {
public:
  connection(boost::asio::io_context& loop, const brimful::options& options, const brimful::pool& pool)
      : socket_(loop), collector_(options, pool) {}

  void start(const tcp::resolver::results_type& peers) {
    boost::asio::async_connect(socket_, peers, [self = shared_from_this()](const auto& error, const tcp::endpoint&) {
      error ? self->fail(error.message()) : self->read_some();
    });
  }

private:
  void read_some() {
    const brimful::span<std::byte> window = collector_.reserve();
    socket_.async_read_some(boost::asio::buffer(window.data(), window.size()),
                            [self = shared_from_this()](const auto& error, std::size_t filled) {
                              self->came(error, filled);
                            });
  }

  void came(const boost::system::error_code& error, std::size_t filled) {
    try {
      collector_.commit(filled); // 0 bytes are nothing, and not the end
      if (error == boost::asio::error::eof)
        collector_.end();
      else if (error)
        return fail(error.message());
      if (!collector_.is_complete())
        return read_some();
      const brimful::buffer body = collector_.finish();
      std::printf("%zu bytes, %08x\n", body.size(), static_cast<unsigned>(adler32(body.segments())));
    } catch (const brimful::error& failure) { // too long, no memory
      fail(failure.code().message());
    }
  }

  void fail(const std::string& why) {
    std::printf("%zu bytes, then: %s\n", static_cast<std::size_t>(collector_.info().length), why.c_str());
  }

  tcp::socket socket_;
  brimful::collector collector_;
};

} // namespace

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: asio HOST PORT COUNT LIMIT\n");
    return 2;
  }
  brimful::options options;
  options.limit = std::strtoull(arguments[4], nullptr, 10);
  const brimful::pool pool; // one for all connections
  boost::asio::io_context loop;
  const auto peers = tcp::resolver(loop).resolve(arguments[1], arguments[2]);
  for (int i = 0; i < std::atoi(arguments[3]); i++)
    std::make_shared<connection>(loop, options, pool)->start(peers);
  loop.run();
}
