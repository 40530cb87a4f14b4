/*
 * brimful for C++: reads a whole body (an HTTP response, a database value, an upload, a pipe) into memory.
 *
 * This header is the manual of the C++ interface. It is all there is of it: it lies over brimful.h, whose comments say
 * what a body, a source, a window, a limit and a length are, and hold here too. What follows says what C++ adds.
 *
 *
 * The shortest use
 *
 *     std::ifstream file("body", std::ios::binary);
 *     brimful::buffer body = brimful::collect([&](brimful::span<std::byte> window) -> std::size_t {
 *       file.read(reinterpret_cast<char*>(window.data()), static_cast<std::streamsize>(window.size()));
 *       return static_cast<std::size_t>(file.gcount()); // 0 is the end
 *     });
 *     use(body.view());
 *
 *
 * What is needed
 *
 *   C++17 or later, with exceptions; run-time type information is not needed. Link with libbrimful, as C does
 *   (pkg-config --cflags --libs brimful). Where exceptions are switched off, use brimful.h.
 *
 *
 * What holds for everything here, unless its comment says otherwise
 *
 *   Sizes     are in bytes and unsigned.
 *   Handles   pool, collector, buffer, exact_buffer, cancel and queue own what they stand for: they are moved, not
 *             copied, and give it back when they go. One that was moved from, and a collector, a buffer or an
 *             exact_buffer that was made without arguments, is empty: bool() is false, sizes are 0, and whatever
 *             would need the object throws errc::invalid. get() is the C handle, which stays owned; release() gives
 *             it up; adopt() takes one over.
 *   Errors    a negative status is thrown as brimful::error, which is a std::system_error whose code() compares with
 *             brimful::errc, and with std::errc where that has the same meaning. What is no error is returned as
 *             brimful::status. After an error the object is in the state that brimful.h says for that status.
 *   Sources   anything that can be called with a span<std::byte>; see `answer`. What a source throws comes out of the
 *             call that it was given to, the very same exception object. For the body it is an error of the source
 *             (info.source_error is source_threw): what had come can be taken with take_partial(), further feeding
 *             throws errc::source, and reset() begins anew. A call that threw brought no bytes. Do not end a thread
 *             by pthread_cancel or pthread_exit within a source: that cannot pass through the library, and ends the
 *             program.
 *   Memory    where memory for the library's own objects is lacking, errc::no_memory is thrown; making the exception,
 *             a segment_list of more than 4 pieces and the texts of errors use new, and may throw std::bad_alloc.
 *   Threads   as brimful.h says of the C object that a class stands for: a pool and a cancel by any number of threads
 *             at once; a buffer read by any number, moved, detached and destroyed by one; all others by one thread
 *             at a time. The C++ object itself is a variable like any other.
 *   Spans     span is std::span where the standard library has it (C++20), else a small class with the same members.
 *             A program may mix both: the classes that show spans are then different types, which cannot be passed
 *             from one to the other but by their C handles.
 */

#ifndef BRIMFUL_HPP
#define BRIMFUL_HPP

#include <brimful.h>

#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#error "brimful.hpp needs exceptions (no -fno-exceptions); without them use brimful.h"
#endif
#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "brimful.hpp needs C++17 or later (-std=c++17)"
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

namespace brimful {

// ---- statuses and errors

/// What a call returns that is no error. Its values are those of brimful.h.
enum class status : brimful_status {
  /// The call did what it says; of a source: bytes came, or with none of them, the body ends.
  ok = BRIMFUL_OK,
  /// Nothing more now (or, of a queue that is written to, no room now). Nothing is lost: call again to go on.
  pending = BRIMFUL_PENDING,
  /// Only a source answers this: interrupted, ask again at once.
  retry = BRIMFUL_RETRY,
  /// This call's share (options::max_step) is used, or bytes wait that were not asked for; call again to go on.
  more = BRIMFUL_MORE,
};

/// What is thrown, as the code of a brimful::error. The numbers and meanings are those of brimful.h; those that are
/// words of C++ end with an underscore.
enum class errc : brimful_status {
  /// An argument or an option is out of range, or a handle is empty. Equals std::errc::invalid_argument.
  invalid = BRIMFUL_ERR_INVALID,
  /// The call does not fit what the object is doing.
  state = BRIMFUL_ERR_STATE,
  /// Called from inside the object's own source. Equals std::errc::device_or_resource_busy.
  busy = BRIMFUL_ERR_BUSY,
  /// No memory; nothing changed, call again. Equals std::errc::not_enough_memory.
  no_memory = BRIMFUL_ERR_NO_MEMORY,
  /// The pool's budget is used up; nothing changed, call again. Equals std::errc::no_buffer_space.
  budget = BRIMFUL_ERR_BUDGET,
  /// The body has more bytes than the limit allows.
  limit = BRIMFUL_ERR_LIMIT,
  /// The source ended before the announced length.
  short_ = BRIMFUL_ERR_SHORT,
  /// The source delivered more than the announced length.
  long_ = BRIMFUL_ERR_LONG,
  /// The source answered an error of its own: error::source_error().
  source = BRIMFUL_ERR_SOURCE,
  /// The source claimed more bytes than it had room for, or answered what is no answer.
  contract = BRIMFUL_ERR_CONTRACT,
  /// The source answered `retry` more than 1000 times in a row.
  no_progress = BRIMFUL_ERR_NO_PROGRESS,
  /// The body was cancelled. Equals std::errc::operation_canceled.
  cancelled = BRIMFUL_ERR_CANCELLED,
  /// The bytes are not text in the encoding. Equals std::errc::illegal_byte_sequence.
  encoding = BRIMFUL_ERR_ENCODING,
  /// The library failed inside. Only destroying the object is sure to be right now.
  panic = BRIMFUL_ERR_PANIC,
};

/// The category of these codes: its name is "brimful", its messages are those of brimful_status_text. Lives as long as
/// the program. Any thread, any time.
inline const std::error_category& error_category() noexcept
{
  class category final : public std::error_category {
  public:
    const char* name() const noexcept override { return "brimful"; }

    std::string message(int value) const override { return brimful_status_text(value); }

    std::error_condition default_error_condition(int value) const noexcept override
    {
      switch (static_cast<errc>(value)) {
      case errc::invalid:
        return std::errc::invalid_argument;
      case errc::busy:
        return std::errc::device_or_resource_busy;
      case errc::no_memory:
        return std::errc::not_enough_memory;
      case errc::budget:
        return std::errc::no_buffer_space;
      case errc::cancelled:
        return std::errc::operation_canceled;
      case errc::encoding:
        return std::errc::illegal_byte_sequence;
      default:
        return std::error_condition(value, *this);
      }
    }
  };
  static const category the_category;
  return the_category;
}

/// Makes an errc a std::error_code, so that code() == brimful::errc::limit can be written.
inline std::error_code make_error_code(errc code) noexcept
{
  return std::error_code(static_cast<int>(code), error_category());
}

/// The number by which a body is told that its source threw: what info.source_error and error::source_error() are then.
/// It is no number for sources to answer.
constexpr std::int32_t source_threw = std::numeric_limits<std::int32_t>::min();

/// What the calls here throw. code() is a brimful::errc; from a queue it may also be a number that the producer gave to
/// queue::end(). what() names the call, and says in a sentence what happened.
class error : public std::system_error {
public:
  /// `status` is negative; `where` names the call.
  error(brimful_status status, const char* where, std::int32_t source_error = 0)
      : std::system_error(status, error_category(), text(where, source_error)), source_error_(source_error)
  {
  }

  /// The source's own number where the code is errc::source (of read_fd: -errno), else 0.
  std::int32_t source_error() const noexcept { return source_error_; }

private:
  static std::string text(const char* where, std::int32_t source_error)
  {
    std::string text = where;
    if (source_error == source_threw)
      text += " (the source threw)";
    else if (source_error != 0)
      text += " (the source's error is " + std::to_string(source_error) + ")";
    return text;
  }

  std::int32_t source_error_;
};

/// What buffer::decode() throws where bytes are no text; its code is errc::encoding.
class encoding_error : public error {
public:
  /// `where` names the call; `offset` as offset().
  encoding_error(const char* where, std::uint64_t offset) : error(BRIMFUL_ERR_ENCODING, where), offset_(offset) {}

  /// Where they begin, in bytes from the buffer's first, a byte order mark counted.
  std::uint64_t offset() const noexcept { return offset_; }

private:
  std::uint64_t offset_;
};

/// A body's numbers: brimful_info with its struct_size set. A plain struct of yours.
struct info : brimful_info {
  info() noexcept : brimful_info{} { struct_size = sizeof(brimful_info); }
};

/// A pool's numbers: brimful_pool_statistics with its struct_size set. A plain struct of yours.
struct pool_statistics : brimful_pool_statistics {
  pool_statistics() noexcept : brimful_pool_statistics{} { struct_size = sizeof(brimful_pool_statistics); }
};

namespace detail {

[[noreturn]] inline void fail(errc code, const char* where)
{
  throw error(static_cast<brimful_status>(code), where);
}

// Throws what is an error, returns what is none.
inline status checked(brimful_status came, const char* where)
{
  if (came < 0)
    throw error(came, where);
  return static_cast<status>(came);
}

// A type for std::unique_ptr that gives a C handle back.
template <auto Free> struct giver {
  template <class Handle> void operator()(Handle* handle) const noexcept { Free(handle); }
};

template <class Handle, auto Free> using owner = std::unique_ptr<Handle, giver<Free>>;

// Tells a constructor that a handle comes, where a 0 could be taken for one.
struct adopted {};

// C reads the largest number as "none"; one less means what it would say.
inline std::uint64_t to_c(const std::optional<std::uint64_t>& number) noexcept
{
  static_assert(BRIMFUL_UNKNOWN == BRIMFUL_UNLIMITED, "one number stands for both");
  return !number ? BRIMFUL_UNKNOWN : *number == BRIMFUL_UNKNOWN ? *number - 1 : *number;
}

} // namespace detail

// ---- pools

/// What a pool is to be like: brimful_pool_options with a C++ face. A plain struct of yours, which may go as soon as
/// the pool is made; what allocator->context points to must outlive the last memory that came from it.
struct pool_options {
  /// The most bytes of touched memory that lie in the pool for reuse; 0 keeps nothing.
  std::uint64_t max_retained = 64u << 20;
  /// The most bytes that all bodies together may hold; beyond it errc::budget is thrown, at once. None: unlimited.
  std::optional<std::uint64_t> budget;
  /// The limit of every body on this pool whose own options have none. None: unlimited.
  std::optional<std::uint64_t> limit;
  /// Memory that has not been used for this long is given back at the pool's next use. Below 0 is errc::invalid.
  std::chrono::milliseconds idle = std::chrono::seconds(10);
  /// Bodies lie in lists of heap blocks, and no address space is reserved (BRIMFUL_POOL_LIST).
  bool list = false;
  /// Every window is cleared before a source sees it (BRIMFUL_POOL_SCRUB).
  bool scrub = false;
  /// Where blocks come from. NULL: the system. The struct is copied.
  const brimful_allocator* allocator = nullptr;
};

/// Recycles the memory of bodies, within a cap of bytes. Collectors, buffers and queues hold their pool by themselves,
/// so they may outlive this object.
///
/// Threads: used by any number at once.
class pool {
public:
  /// Makes a pool. Throws errc::invalid: an option is out of range; errc::no_memory.
  explicit pool(const pool_options& with = {})
  {
    if (with.idle.count() < 0)
      detail::fail(errc::invalid, "brimful::pool: idle is below 0");
    brimful_pool_options options;
    brimful_pool_options_init(&options, sizeof options);
    options.max_retained = with.max_retained;
    options.budget = detail::to_c(with.budget);
    options.limit = detail::to_c(with.limit);
    options.idle_milliseconds = static_cast<std::uint64_t>(with.idle.count());
    options.flags = (with.list ? std::uint32_t{BRIMFUL_POOL_LIST} : 0u) |
                    (with.scrub ? std::uint32_t{BRIMFUL_POOL_SCRUB} : 0u);
    options.allocator = with.allocator;
    brimful_pool* made = nullptr;
    detail::checked(brimful_pool_new(&options, &made), "brimful::pool");
    handle_.reset(made);
  }

  /// The default pool of the process: the same one at every call, with every default. It lives as long as the program.
  static pool process_default() noexcept { return adopt(brimful_pool_default()); }

  /// Takes over a hold of a C handle; NULL gives an empty object.
  static pool adopt(brimful_pool* handle) noexcept { return pool(detail::adopted{}, handle); }

  /// Its numbers: cheap, and exact when no call on the pool is in progress. Throws errc::invalid: empty.
  pool_statistics stats() const
  {
    pool_statistics statistics;
    detail::checked(brimful_pool_stats(handle("brimful::pool::stats"), &statistics), "brimful::pool::stats");
    return statistics;
  }

  /// Gives memory that lies in the pool back to the system until at most `keep` bytes lie there; returns how many bytes
  /// were given back. Throws errc::invalid: empty.
  std::size_t trim(std::uint64_t keep = 0) const { return brimful_pool_trim(handle("brimful::pool::trim"), keep); }

  /// Whether this is a pool, and not an empty object.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The C handle, which stays owned; NULL where empty.
  brimful_pool* get() const noexcept { return handle_.get(); }

  /// Gives the C handle up, for brimful_pool_release; the object is empty then.
  [[nodiscard]] brimful_pool* release() noexcept { return handle_.release(); }

  /// The C handle for a call named `where`, which throws errc::invalid where it is empty: in C, NULL is a pool too.
  brimful_pool* handle(const char* where) const
  {
    if (!handle_)
      detail::fail(errc::invalid, where);
    return handle_.get();
  }

private:
  pool(detail::adopted, brimful_pool* handle) noexcept : handle_(handle) {}

  detail::owner<brimful_pool, brimful_pool_release> handle_;
};

// ---- cancelling

/// Stops bodies from outside: put a pointer to it into options::cancel; when it is triggered, each of its bodies that
/// reads throws errc::cancelled. Looked at before and after each call of a source, not by write, reserve and commit.
/// It stays triggered. Collectors hold what it stands for by themselves, so this object may go before they do.
///
/// Threads: trigger() and retain() from any thread at any time.
class cancel {
public:
  /// Makes one that is not triggered. Throws errc::no_memory.
  cancel()
  {
    brimful_cancel* made = nullptr;
    detail::checked(brimful_cancel_new(&made), "brimful::cancel");
    handle_.reset(made);
  }

  /// Takes over a hold of a C handle; NULL gives an empty object.
  static cancel adopt(brimful_cancel* handle) noexcept { return cancel(detail::adopted{}, handle); }

  /// Triggers it, as often as you like. Nothing is waited for. Does nothing where empty.
  void trigger() const noexcept { brimful_cancel_trigger(handle_.get()); }

  /// Another object that stands for the same, for another owner. Empty where this is.
  cancel retain() const noexcept { return cancel(detail::adopted{}, brimful_cancel_retain(handle_.get())); }

  /// Whether this can be triggered, and is not an empty object.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The C handle, which stays owned; NULL where empty.
  brimful_cancel* get() const noexcept { return handle_.get(); }

  /// Gives the C handle up, for brimful_cancel_release; the object is empty then.
  [[nodiscard]] brimful_cancel* release() noexcept { return handle_.release(); }

private:
  cancel(detail::adopted, brimful_cancel* handle) noexcept : handle_(handle) {}

  detail::owner<brimful_cancel, brimful_cancel_release> handle_;
};

// ---- options of a body

/// How the end of a body of announced length is known.
enum class ending : std::uint32_t {
  /// Complete as soon as `length` bytes have arrived; the source is never asked for a byte beyond them.
  length = BRIMFUL_END_LENGTH,
  /// The source must then also say that it ends: it is asked once more, for 1 byte.
  eof = BRIMFUL_END_EOF,
};

/// What buffer::decode() does about bytes that are no text.
enum class fault : std::uint32_t {
  /// Throws encoding_error.
  refuse = 0,
  /// Each becomes U+FFFD, as many as the Encoding Standard says.
  replace = BRIMFUL_DECODE_REPLACE,
};

/// What a body may be, and how it is collected: brimful_options with a C++ face. Made without arguments it has every
/// default. A plain struct of yours, which is read during the call that is given it and may go then; what
/// allocator->context points to must outlive the last exact result that came from it. An option out of range is
/// errc::invalid, with nothing done.
struct options {
  /// The body has exactly this many bytes, and that is enforced: errc::short_, errc::long_. None: not known.
  std::optional<std::uint64_t> length;
  /// About how many bytes are expected. Only advice: too small or too big is no error. None: not known.
  std::optional<std::uint64_t> size_hint;
  /// The most bytes that the body may have; 0 allows only the empty body. None: the pool's own limit, if it has one.
  std::optional<std::uint64_t> limit;
  /// How the end is known where there is a length.
  ending end = ending::length;
  /// More than `limit` bytes is no error: the result has the first `limit` bytes and says that it was cut.
  bool truncate = false;
  /// Windows are cleared before the source sees them.
  bool scrub = false;
  /// Be ready for finish_exact: a length that is known is then read straight into the exact result.
  bool prefer_exact = false;
  /// So many zero bytes are readable behind an exact result, and behind buffer::data() and view(); no size counts them.
  /// At most 65536. 1 makes view().data() a C string of a text.
  std::uint32_t padding = 0;
  /// The most bytes that a mere announcement can cause to be taken. 0: 16 MiB.
  std::uint64_t max_prealloc = 0;
  /// The first block of a body of unknown length: 4 KiB to 1 GiB. 0: 16 KiB.
  std::uint64_t first_block = 0;
  /// The most bytes asked of the source at once: 4 KiB to 1 GiB. 0: 1 MiB.
  std::uint64_t max_window = 0;
  /// The most bytes that one call of read, read_fd or a one-shot function takes before it answers `more`. 0: no such cap.
  std::uint64_t max_step = 0;
  /// Where exact results come from; the struct is copied. NULL: malloc, realloc and free.
  const brimful_allocator* allocator = nullptr;
  /// What stops this body from outside, or NULL; the collector takes a hold of its own. Empty is errc::invalid.
  const brimful::cancel* cancel = nullptr;
  /// Filled by the one-shot functions on every outcome, what is thrown included, or NULL. Other calls do not look at it.
  brimful::info* info = nullptr;
};

namespace detail {

inline brimful_options to_c(const options& with, const char* where)
{
  if (with.cancel != nullptr && !*with.cancel)
    fail(errc::invalid, where);
  brimful_options options;
  brimful_options_init(&options, sizeof options);
  options.length = to_c(with.length);
  options.size_hint = to_c(with.size_hint);
  options.limit = to_c(with.limit);
  options.end = static_cast<std::uint32_t>(with.end);
  options.flags = (with.truncate ? std::uint32_t{BRIMFUL_TRUNCATE} : 0u) |
                  (with.scrub ? std::uint32_t{BRIMFUL_SCRUB} : 0u);
  options.prefer = with.prefer_exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  options.padding = with.padding;
  options.max_prealloc = with.max_prealloc;
  options.first_block = with.first_block;
  options.max_window = with.max_window;
  options.max_step = with.max_step;
  options.allocator = with.allocator;
  options.cancel = with.cancel == nullptr ? nullptr : with.cancel->get();
  options.info = with.info;
  return options;
}

// What an exact result has to be freed with: a copy of the allocator, whose struct may be gone by then, and the padding,
// since an allocator is told the whole size.
struct exact_memory {
  brimful_allocator allocator{};
  std::uint32_t padding = 0;

  exact_memory() = default;

  exact_memory(const brimful_allocator* from, std::uint32_t zeros) noexcept : padding(zeros)
  {
    if (from != nullptr)
      std::memcpy(&allocator, from, from->struct_size < sizeof allocator ? from->struct_size : sizeof allocator);
  }

  void free(void* memory, std::size_t size) const noexcept
  {
    if (allocator.deallocate == nullptr)
      brimful_memory_free(memory);
    else if (memory != nullptr)
      allocator.deallocate(allocator.context, memory, size + padding == 0 ? 1 : size + padding);
  }
};

} // namespace detail

// ---- what a source answers

/// What a source answers for one call. A source is anything that can be called in one of these ways, and puts at most
/// window.size() bytes at the start of the window:
///   std::size_t (span<std::byte> window)                      bytes that came; 0 is the end. Any type of whole numbers
///                                                             does; a negative number is no answer (errc::contract)
///   brimful::answer (span<std::byte> window)                  the same, and more
///   brimful::status (span<std::byte> window, std::size_t& filled)   or brimful_status: as in C; filled is 0 before
/// The window is write-only memory of at least 1 byte, and must not be used after the source has returned. Calls on the
/// collector by which it is called throw errc::busy, but info() works; destroying the collector there takes effect when
/// the call around the source returns. Everything else may be called.
///
/// A plain struct of yours.
struct answer {
  /// Bytes that came, whatever the status.
  std::size_t filled = 0;
  /// BRIMFUL_OK (with 0 bytes: the end), BRIMFUL_PENDING, BRIMFUL_RETRY, or a negative number of the source's own.
  brimful_status status = BRIMFUL_OK;

  /// `filled` bytes came; 0 is the end.
  static constexpr answer bytes(std::size_t filled) noexcept { return answer{filled, BRIMFUL_OK}; }
  /// The body ends.
  static constexpr answer end() noexcept { return answer{0, BRIMFUL_OK}; }
  /// Nothing more now, after `filled` bytes.
  static constexpr answer pending(std::size_t filled = 0) noexcept { return answer{filled, BRIMFUL_PENDING}; }
  /// Interrupted, after `filled` bytes; ask again at once.
  static constexpr answer retry(std::size_t filled = 0) noexcept { return answer{filled, BRIMFUL_RETRY}; }
  /// An error of the source's own after `filled` bytes: errc::source is thrown, with this number, which is negative.
  static constexpr answer error(std::int32_t number, std::size_t filled = 0) noexcept { return answer{filled, number}; }
};

/// How many bytes a call moved, and whether it can go on.
struct transfer {
  /// ok, or why there were fewer.
  brimful::status status;
  /// Bytes.
  std::size_t length;
};

// ---- what shows spans: one of two sets of types, by the kind of span

#if defined(__cpp_lib_span)
inline namespace with_std_span {

/// std::span of any length.
template <class T> using span = std::span<T>;
#else
inline namespace with_own_span {

/// What std::span is from C++20 on: a pointer and a number of elements, which belong to somebody else.
template <class T> class span {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;
  using iterator = T*;

  constexpr span() noexcept = default;
  constexpr span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t Size> constexpr span(T (&array)[Size]) noexcept : data_(array), size_(Size) {}

  /// Of anything with data() and size(), such as std::vector, std::array and other spans.
  template <class Container,
            class = std::enable_if_t<!std::is_same_v<std::remove_cv_t<std::remove_reference_t<Container>>, span> &&
                                     std::is_convertible_v<
                                         std::remove_pointer_t<decltype(std::declval<Container&>().data())> (*)[],
                                         T (*)[]> &&
                                     std::is_convertible_v<decltype(std::declval<Container&>().size()), std::size_t>>>
  constexpr span(Container&& container) : data_(container.data()), size_(container.size())
  {
  }

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T* begin() const noexcept { return data_; }
  constexpr T* end() const noexcept { return data_ + size_; }
  constexpr T& operator[](std::size_t index) const { return data_[index]; }
  constexpr T& front() const { return data_[0]; }
  constexpr T& back() const { return data_[size_ - 1]; }
  constexpr span first(std::size_t count) const { return span(data_, count); }
  constexpr span last(std::size_t count) const { return span(data_ + (size_ - count), count); }
  constexpr span subspan(std::size_t offset, std::size_t count = static_cast<std::size_t>(-1)) const
  {
    return span(data_ + offset, count == static_cast<std::size_t>(-1) ? size_ - offset : count);
  }

private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};
#endif

/// The pieces in which a body lies, in order: a contiguous range of span<const std::byte>, for range-for, algorithms and
/// std::ranges. It holds the spans themselves, so it may be copied; the bytes belong to the object that gave it, and
/// are valid as long as that says.
class segment_list {
public:
  /// A piece; its bytes are not to be written to.
  using value_type = span<const std::byte>;
  /// Goes over the pieces in order.
  using const_iterator = const value_type*;
  /// The same.
  using iterator = const_iterator;

  /// No pieces.
  segment_list() noexcept = default;

  /// The first piece.
  const_iterator begin() const noexcept { return many_.empty() ? few_.data() : many_.data(); }
  /// Behind the last piece.
  const_iterator end() const noexcept { return begin() + size(); }
  /// How many pieces.
  std::size_t size() const noexcept { return many_.empty() ? count_ : many_.size(); }
  /// Whether there is none.
  bool empty() const noexcept { return size() == 0; }
  /// The piece of that number, which must be below size().
  const value_type& operator[](std::size_t index) const { return begin()[index]; }
  /// The first piece, of which there must be one.
  const value_type& front() const { return *begin(); }
  /// The last piece, of which there must be one.
  const value_type& back() const { return end()[-1]; }

  /// Appends what C shows. Throws std::bad_alloc for the fifth piece and later ones.
  void add(const brimful_slice& slice)
  {
    const value_type piece(static_cast<const std::byte*>(slice.data), slice.length);
    if (many_.empty() && count_ < few_.size()) {
      few_[count_++] = piece;
      return;
    }
    if (many_.empty())
      many_.assign(few_.begin(), few_.end());
    many_.push_back(piece);
  }

private:
  std::array<value_type, 4> few_{}; // most bodies lie in 1 piece, so that showing them takes no memory
  std::size_t count_ = 0;           // of few_
  std::vector<value_type> many_;    // all of them, where few_ is too small
};

namespace bridge {

struct maker;

// Shows all pieces of a collector or a buffer, by the C function for it.
template <auto Show, class Handle> segment_list shown_by(const Handle* handle)
{
  segment_list list;
  std::array<brimful_slice, 16> slices{};
  for (std::size_t first = 0;;) {
    const std::size_t count = Show(handle, first, slices.data(), slices.size());
    for (std::size_t i = 0; i < count; i++)
      list.add(slices[i]);
    if (count < slices.size())
      return list;
    first += count;
  }
}

// Asks a source in C++ on behalf of C, and keeps what it throws.
template <class Source> class caller {
public:
  explicit caller(Source& source) noexcept : source_(source) {}

  static brimful_status call(void* context, void* window, std::size_t room, std::size_t* filled) noexcept
  {
    caller& self = *static_cast<caller*>(context);
    std::size_t count = 0;
    self.was_called_ = true;
    try {
      const brimful_status came = self.ask(span<std::byte>(static_cast<std::byte*>(window), room), count);
      *filled = count;
      self.error_ = came < 0 ? came : 0;
      return came;
    } catch (...) {
      self.thrown_ = std::current_exception();
      self.error_ = source_threw;
      return source_threw;
    }
  }

  // What the call around the source came to: throws on what the source threw, throws an error, returns the rest. `handle`
  // is asked for an earlier error of the source where this call did not reach it; else it may be gone by now.
  status end(brimful_status came, const char* where, const brimful_collector* handle) const
  {
    if (thrown_)
      std::rethrow_exception(thrown_);
    std::int32_t number = error_;
    info numbers;
    if (came == BRIMFUL_ERR_SOURCE && !was_called_ && brimful_collector_info(handle, &numbers) == BRIMFUL_OK)
      number = numbers.source_error;
    if (came < 0)
      throw error(came, where, came == BRIMFUL_ERR_SOURCE ? number : 0);
    return static_cast<status>(came);
  }

private:
  brimful_status ask(span<std::byte> window, std::size_t& count)
  {
    if constexpr (std::is_invocable_v<Source&, span<std::byte>, std::size_t&>) {
      using result = std::invoke_result_t<Source&, span<std::byte>, std::size_t&>;
      static_assert(std::is_same_v<result, status> || std::is_same_v<result, brimful_status>,
                    "a source (span<std::byte>, std::size_t& filled) returns brimful::status or brimful_status");
      return static_cast<brimful_status>(source_(window, count));
    } else {
      static_assert(std::is_invocable_v<Source&, span<std::byte>>,
                    "a source can be called with a span<std::byte>, or with that and a std::size_t&; see brimful::answer");
      using result = std::invoke_result_t<Source&, span<std::byte>>;
      if constexpr (std::is_same_v<result, answer>) {
        const answer came = source_(window);
        count = came.filled;
        return came.status;
      } else {
        static_assert(std::is_integral_v<result> && !std::is_same_v<result, bool>,
                      "a source (span<std::byte>) returns how many bytes came, or a brimful::answer");
        count = static_cast<std::size_t>(source_(window)); // below 0 becomes more than any room: a broken contract
        return BRIMFUL_OK;
      }
    }
  }

  Source& source_;
  std::exception_ptr thrown_;
  std::int32_t error_ = 0;
  bool was_called_ = false;
};

} // namespace bridge

// ---- results

/// The exact result: memory of exactly its size, from malloc or options::allocator, freed with the same one. The bytes
/// are yours, to be changed too.
///
/// Threads: a value like std::vector.
class exact_buffer {
public:
  /// Empty: no memory.
  exact_buffer() noexcept = default;

  /// Takes over what C gave: `size` bytes at `data`, made by `allocator` (NULL: malloc) with `padding` zero bytes behind.
  static exact_buffer adopt(void* data, std::size_t size, const brimful_allocator* allocator = nullptr,
                            std::uint32_t padding = 0) noexcept
  {
    return exact_buffer(data, size, detail::exact_memory(allocator, padding));
  }

  /// Takes the memory over; `from` is empty then.
  exact_buffer(exact_buffer&& from) noexcept : memory_(from.memory_), size_(from.size_), data_(from.release()) {}

  /// Frees what it has and takes the other's memory over.
  exact_buffer& operator=(exact_buffer&& from) noexcept
  {
    exact_buffer moved(std::move(from));
    std::swap(memory_, moved.memory_);
    std::swap(size_, moved.size_);
    std::swap(data_, moved.data_);
    return *this;
  }

  ~exact_buffer() { memory_.free(data_, size_); }

  /// The first byte; not NULL for the empty body, NULL where there is no memory.
  std::byte* data() noexcept { return data_; }
  /// The same, not to be written to.
  const std::byte* data() const noexcept { return data_; }
  /// Bytes, the padding not counted.
  std::size_t size() const noexcept { return size_; }
  /// Whether it has no byte.
  bool empty() const noexcept { return size_ == 0; }
  /// The first byte.
  std::byte* begin() noexcept { return data_; }
  /// Behind the last byte.
  std::byte* end() noexcept { return data_ + size_; }
  /// The first byte.
  const std::byte* begin() const noexcept { return data_; }
  /// Behind the last byte.
  const std::byte* end() const noexcept { return data_ + size_; }
  /// The byte of that number, which must be below size().
  std::byte& operator[](std::size_t index) { return data_[index]; }
  /// The byte of that number, which must be below size().
  const std::byte& operator[](std::size_t index) const { return data_[index]; }

  /// The bytes as characters. With options::padding of 1 or more, a NUL follows them. Valid while this object is.
  std::string_view view() const noexcept
  {
    return data_ == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(data_), size_);
  }

  /// Whether there is memory.
  explicit operator bool() const noexcept { return data_ != nullptr; }

  /// Gives the memory up, to be freed with free() or your allocator, which is told size() + padding, at least 1; the
  /// object is empty then.
  [[nodiscard]] std::byte* release() noexcept
  {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

private:
  friend class buffer;
  friend class collector;
  friend struct bridge::maker;

  exact_buffer(void* data, std::size_t size, const detail::exact_memory& memory) noexcept
      : memory_(memory), size_(size), data_(static_cast<std::byte*>(data))
  {
  }

  detail::exact_memory memory_;
  std::size_t size_ = 0;
  std::byte* data_ = nullptr; // after size_, which release() clears
};

/// The pooled result: a body in the blocks that it arrived in, which go back to their pool with the last of the objects
/// that stand for it. Its bytes never change.
///
/// Threads: read by any number at once; move, detach and destroy it when no other thread uses this object.
class buffer {
public:
  /// Empty: no body.
  buffer() noexcept = default;

  /// Takes over a hold of a C handle; NULL gives an empty object. `padding` is the options.padding of its body.
  static buffer adopt(brimful_buffer* handle, std::uint32_t padding = 0) noexcept { return buffer(handle, padding); }

  /// Bytes; 0 where empty.
  std::size_t size() const noexcept { return brimful_buffer_length(handle_.get()); }
  /// Whether it has no byte.
  bool empty() const noexcept { return size() == 0; }
  /// Whether the body had more bytes than the limit and was cut there (options::truncate).
  bool truncated() const noexcept { return brimful_buffer_truncated(handle_.get()) != 0; }

  /// The numbers of its body. Throws errc::invalid: empty.
  brimful::info info() const
  {
    brimful::info numbers;
    detail::checked(brimful_buffer_info(handle_.get(), &numbers), "brimful::buffer::info");
    return numbers;
  }

  /// In how many pieces it lies; 0 for the empty body.
  std::size_t segment_count() const noexcept { return brimful_buffer_segment_count(handle_.get()); }

  /// The pieces where they lie, without a copy. They are valid until the last object that stands for this body goes, or
  /// detach().
  segment_list segments() const { return bridge::shown_by<brimful_buffer_segments>(handle_.get()); }

  /// All bytes as one piece, valid as segments() are, with options::padding zero bytes behind (not behind a slice). A
  /// body of several pieces is copied together once, by the first call, and that copy is kept. Throws
  /// errc::no_memory and errc::budget: no memory for that, nothing changed; errc::invalid: empty.
  span<const std::byte> data() const
  {
    const void* data = nullptr;
    std::size_t length = 0;
    detail::checked(brimful_buffer_data(handle_.get(), &data, &length), "brimful::buffer::data");
    return span<const std::byte>(static_cast<const std::byte*>(data), length);
  }

  /// The same as characters. With options::padding of 1 or more, a NUL follows them.
  std::string_view view() const
  {
    const span<const std::byte> bytes = data();
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  /// Copies bytes from `offset` on to the target, as many as it has room for, and returns how many: fewer at the end.
  std::size_t copy(std::size_t offset, span<std::byte> target) const noexcept
  {
    return brimful_buffer_copy(handle_.get(), offset, target.data(), target.size());
  }

  /// Copies it into memory of exactly its size, from `allocator`, or malloc where that is NULL, with the body's padding
  /// behind. Throws errc::no_memory; errc::invalid: empty, or no such allocator.
  exact_buffer to_exact(const brimful_allocator* allocator = nullptr) const
  {
    void* data = nullptr;
    std::size_t length = 0;
    detail::checked(brimful_buffer_to_exact(handle_.get(), allocator, &data, &length), "brimful::buffer::to_exact");
    return exact_buffer(data, length, detail::exact_memory(allocator, padding_));
  }

  /// `length` bytes from `offset` on as a buffer of their own, which shares the memory and holds all of it. Throws
  /// errc::invalid: empty, or beyond the buffer; errc::no_memory.
  buffer slice(std::size_t offset, std::size_t length) const
  {
    brimful_buffer* made = nullptr;
    detail::checked(brimful_buffer_slice(handle_.get(), offset, length, &made), "brimful::buffer::slice");
    return buffer(made, 0);
  }

  /// Lets a slice go of what it was cut from, by copying its bytes out; what is no slice stays as it is. What it showed
  /// before must not be used any more, and no other thread may use the body during the call. Throws errc::no_memory
  /// and errc::budget: nothing changed; errc::invalid: empty.
  void detach() { detail::checked(brimful_buffer_detach(handle_.get()), "brimful::buffer::detach"); }

  /// Decodes it into UTF-8 text of its own, straight from where it lies: the result's view(), with a NUL behind it that is
  /// not counted. `encoding` is a name as HTTP and HTML have it, or NULL: a byte order mark decides, and without one it is
  /// UTF-8; brimful_buffer_decode says which names there are. `allocator` NULL is malloc. Throws encoding_error;
  /// errc::no_memory; errc::invalid: empty, the encoding is unknown, or no such allocator.
  exact_buffer decode(const char* encoding = nullptr, fault on_fault = fault::refuse,
                      const brimful_allocator* allocator = nullptr) const
  {
    char* text = nullptr;
    std::size_t length = 0;
    std::uint64_t offset = 0;
    const brimful_status came = brimful_buffer_decode(handle_.get(), encoding, static_cast<std::uint32_t>(on_fault),
                                                      allocator, &text, &length, &offset);
    if (came == BRIMFUL_ERR_ENCODING)
      throw encoding_error("brimful::buffer::decode", offset);
    detail::checked(came, "brimful::buffer::decode");
    return exact_buffer(text, length, detail::exact_memory(allocator, 1));
  }

  /// Another object that stands for the same body, for another owner. Empty where this is.
  buffer retain() const noexcept { return buffer(brimful_buffer_retain(handle_.get()), padding_); }

  /// Whether this stands for a body, be that empty.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The C handle, which stays owned; NULL where empty.
  brimful_buffer* get() const noexcept { return handle_.get(); }

  /// Gives the C handle up, for brimful_buffer_release; the object is empty then.
  [[nodiscard]] brimful_buffer* release() noexcept { return handle_.release(); }

private:
  buffer(brimful_buffer* handle, std::uint32_t padding) noexcept : handle_(handle), padding_(padding) {}

  detail::owner<brimful_buffer, brimful_buffer_release> handle_;
  std::uint32_t padding_ = 0;
};

// ---- step by step

/// Owns a body while it arrives. It can stop at any byte and go on later. It is fed in one of four ways, which may be
/// mixed: read() asks a source, read_fd() reads a file descriptor, write() takes bytes that you have, reserve() and
/// commit() let you fill a window. It is open until the body is complete, or an error ends it (failed); then its result,
/// or what came, can be taken once (taken); then it can be reset. A call that does not fit throws errc::state and
/// changes nothing; after an error that ended the body every feeding call throws that error again.
///
/// Threads: one at a time; it may move from one to another.
class collector {
public:
  /// Empty: to be assigned to, or to receive what a one-shot function leaves.
  collector() noexcept = default;

  /// Makes a collector; no memory for the body is taken yet. Throws errc::invalid: an option is out of range, or the pool
  /// is empty; errc::no_memory.
  explicit collector(const options& with, const pool& from = pool::process_default())
      : memory_(with.allocator, with.padding)
  {
    const brimful_options c = detail::to_c(with, "brimful::collector");
    brimful_collector* made = nullptr;
    detail::checked(brimful_collector_new(from.handle("brimful::collector"), &c, &made), "brimful::collector");
    handle_.reset(made);
  }

  /// Makes a collector whose body lies in your own memory: at the start of `target`, info().length bytes of it on every
  /// outcome. More than fits is errc::limit. The target must stay where it is, and nobody else may write to it, until
  /// the collector goes. finish, finish_exact and take_partial give copies. Throws as the constructor does.
  static collector into(span<std::byte> target, const options& with = {})
  {
    const brimful_options c = detail::to_c(with, "brimful::collector::into");
    brimful_collector* made = nullptr;
    detail::checked(brimful_collector_new_into(&c, target.data(), target.size(), &made), "brimful::collector::into");
    return collector(made, detail::exact_memory(with.allocator, 0), true);
  }

  /// Takes over a C handle; NULL gives an empty object. `allocator` and `padding` are those of its options.
  static collector adopt(brimful_collector* handle, const brimful_allocator* allocator = nullptr,
                         std::uint32_t padding = 0) noexcept
  {
    return collector(handle, detail::exact_memory(allocator, padding), false);
  }

  /// Asks the source for bytes until the body is complete, the source has nothing now, or an error ends the body.
  /// Returns ok: complete; pending: call again later; more: options::max_step bytes came, call again when it is its
  /// turn. Throws what the source throws, and
  ///   errc::no_memory, errc::budget   nothing changed; call again, or take what came
  ///   errc::limit, short_, long_, source, contract, no_progress, cancelled   the body has failed; take_partial()
  ///   errc::state   a window is out, or the body was taken;  errc::busy   from inside its own source
  ///   errc::invalid   empty
  template <class Source> status read(Source&& source)
  {
    bridge::caller<std::remove_reference_t<Source>> caller(source);
    brimful_collector* const handle = handle_.get(); // this object may be gone when a source has destroyed it
    return caller.end(brimful_collector_read(handle, caller.call, &caller), "brimful::collector::read", handle);
  }

  /// Reads with read(2) from a file descriptor, which stays yours, as read() does. EAGAIN is pending, an error of the
  /// system is errc::source with -errno as error::source_error().
  status read_fd(int descriptor)
  {
    return checked(brimful_collector_read_fd(handle_.get(), descriptor), "brimful::collector::read_fd");
  }

  /// The next window, never empty: to be filled from the start and handed back with commit(). `want` is a wish in bytes,
  /// 0 for none. Write-only memory, not to be used after the commit. Again before the commit: the same window. Throws
  /// errc::no_memory, errc::budget: nothing changed; errc::limit: the announced length is above it; errc::state: the
  /// body is complete or was taken; the error of a failed body; errc::busy; errc::invalid: empty.
  span<std::byte> reserve(std::size_t want = 0)
  {
    void* window = nullptr;
    std::size_t room = 0;
    checked(brimful_collector_reserve(handle_.get(), want, &window, &room), "brimful::collector::reserve");
    return span<std::byte>(static_cast<std::byte*>(window), room);
  }

  /// Takes the window back with its first `filled` bytes filled. 0: nothing came, which is not the end. Throws
  /// errc::contract: more than its room, nothing of it counts and the body has failed; errc::limit, errc::long_: the
  /// body has failed; errc::state: no window is out; the error of a failed body; errc::busy; errc::invalid: empty.
  void commit(std::size_t filled)
  {
    checked(brimful_collector_commit(handle_.get(), filled), "brimful::collector::commit");
  }

  /// Copies bytes into the body: all of them, or the body fails. Throws errc::long_, errc::limit: it has failed;
  /// errc::no_memory, errc::budget: nothing was taken, call again; errc::state: a window is out, or the body is complete
  /// without a length, or was taken; the error of a failed body; errc::busy; errc::invalid: empty, NULL with a length.
  void write(const void* data, std::size_t length)
  {
    checked(brimful_collector_write(handle_.get(), data, length, nullptr), "brimful::collector::write");
  }

  /// The same.
  void write(span<const std::byte> bytes) { write(bytes.data(), bytes.size()); }

  /// The same, of characters.
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// As write(), but a body of announced length takes only what it lacks; returns how many bytes that were. The rest (the
  /// head of the next value) stays yours.
  [[nodiscard]] std::size_t write_some(span<const std::byte> bytes)
  {
    std::size_t taken = 0;
    checked(brimful_collector_write(handle_.get(), bytes.data(), bytes.size(), &taken), "brimful::collector::write_some");
    return taken;
  }

  /// Says that the body ends here, for bodies that are written or committed. Throws errc::short_: the body has failed;
  /// errc::limit: the announced length is above it; errc::state: a window is out, or the body was taken; the error of a
  /// failed body; errc::busy; errc::invalid: empty.
  void end() { checked(brimful_collector_end(handle_.get()), "brimful::collector::end"); }

  /// Copies bytes of what has arrived so far, from `offset` on, as many as the target has room for; returns how many. 0
  /// after the body was taken, from inside a source, and where empty. Changes nothing.
  std::size_t copy(std::uint64_t offset, span<std::byte> target) const noexcept
  {
    return brimful_collector_copy(handle_.get(), offset, target.data(), target.size());
  }

  /// What has arrived so far, where it lies; no pieces after the body was taken, from inside a source, and where empty.
  /// Valid until the next call that feeds, takes, resets or destroys the collector.
  segment_list segments() const { return bridge::shown_by<brimful_collector_segments>(handle_.get()); }

  /// Whether the body is complete or was taken; false: more is wanted. Throws the error of a failed body, so that a loop
  /// until it is true ends; errc::busy; errc::invalid: empty.
  bool is_complete() const
  {
    return checked(brimful_collector_is_complete(handle_.get()), "brimful::collector::is_complete") != status::ok;
  }

  /// Takes the complete body as a pooled buffer; copies nothing. Throws errc::state: it is not complete, or was taken;
  /// errc::no_memory: nothing changed; the error of a failed body; errc::busy; errc::invalid: empty.
  buffer finish()
  {
    brimful_buffer* made = nullptr;
    checked(brimful_collector_finish(handle_.get(), &made), "brimful::collector::finish");
    return buffer::adopt(made, memory_.padding);
  }

  /// Takes the complete body as an exact buffer. Copies nothing where the length was known and prefer_exact given; else
  /// the body is copied once at most. Throws as finish() does; after errc::no_memory finish() can still be called.
  exact_buffer finish_exact()
  {
    void* data = nullptr;
    std::size_t length = 0;
    checked(brimful_collector_finish_exact(handle_.get(), &data, &length), "brimful::collector::finish_exact");
    return exact_buffer(data, length, memory_);
  }

  /// Takes what has arrived, complete or not, as a pooled buffer: after any error or exception, and while the body is
  /// open. Throws errc::state: a window is out, or it was taken; errc::no_memory: nothing changed; errc::busy;
  /// errc::invalid: empty.
  buffer take_partial()
  {
    brimful_buffer* made = nullptr;
    // Not by way of checked(): this call answers no error of the body.
    detail::checked(brimful_collector_take_partial(handle_.get(), &made), "brimful::collector::take_partial");
    return buffer::adopt(made, memory_.padding);
  }

  /// Begins a new body with the same options, whatever state it is in; what was not taken is dropped. A cancel object
  /// that was triggered stays so. Throws errc::no_memory, errc::busy: nothing changed; errc::invalid: empty.
  void reset() { detail::checked(brimful_collector_reset(handle_.get(), nullptr), "brimful::collector::reset"); }

  /// The same with other options. Throws errc::invalid too where one is out of range: nothing changed.
  void reset(const options& with)
  {
    const brimful_options c = detail::to_c(with, "brimful::collector::reset");
    detail::checked(brimful_collector_reset(handle_.get(), &c), "brimful::collector::reset");
    memory_ = detail::exact_memory(with.allocator, is_into_ ? 0 : with.padding);
  }

  /// The body's numbers. Works in every state, from inside a source too. Throws errc::invalid: empty.
  brimful::info info() const
  {
    brimful::info numbers;
    detail::checked(brimful_collector_info(handle_.get(), &numbers), "brimful::collector::info");
    return numbers;
  }

  /// Whether this is a collector, and not an empty object.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The C handle, which stays owned; NULL where empty.
  brimful_collector* get() const noexcept { return handle_.get(); }

  /// Gives the C handle up, for brimful_collector_free; the object is empty then.
  [[nodiscard]] brimful_collector* release() noexcept { return handle_.release(); }

private:
  collector(brimful_collector* handle, const detail::exact_memory& memory, bool is_into) noexcept
      : memory_(memory), handle_(handle), is_into_(is_into)
  {
  }

  friend struct bridge::maker;

  // detail::checked, with the source's number where a body has failed by that.
  status checked(brimful_status came, const char* where) const
  {
    brimful::info numbers;
    if (came == BRIMFUL_ERR_SOURCE && brimful_collector_info(handle_.get(), &numbers) == BRIMFUL_OK)
      throw error(came, where, numbers.source_error);
    return detail::checked(came, where);
  }

  detail::exact_memory memory_;
  detail::owner<brimful_collector, brimful_collector_free> handle_;
  bool is_into_ = false;
};

namespace bridge {

// Makes, for the functions below, what only the classes themselves can.
struct maker {
  static exact_buffer exact(void* data, std::size_t size, const detail::exact_memory& memory) noexcept
  {
    return exact_buffer(data, size, memory);
  }

  static collector rest(brimful_collector* handle, const detail::exact_memory& memory, bool is_into) noexcept
  {
    return collector(handle, memory, is_into);
  }
};

} // namespace bridge

// ---- a whole body in one call

/// Reads a whole body from the source and returns it as a pooled buffer. Throws what the source throws, and as
/// collector::read() and the constructor of collector do; what had come is then gone: the next function keeps it.
/// A source that has nothing now, and options::max_step that is used up, are errc::state here.
template <class Source>
buffer collect(Source&& source, const options& with = {}, const pool& from = pool::process_default())
{
  const brimful_options c = detail::to_c(with, "brimful::collect");
  brimful_pool* const pool_handle = from.handle("brimful::collect");
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  brimful_buffer* made = nullptr;
  const brimful_status came = brimful_collect(pool_handle, &c, caller.call, &caller, &made, nullptr);
  buffer body = buffer::adopt(made, with.padding);
  caller.end(came, "brimful::collect", nullptr);
  return body;
}

/// The same for sources that stop, and for those who want what came: returns ok, and `body` is the body; or pending or
/// more, and `rest` is the collector, to go on with by read(). Whatever is thrown, the source's own exceptions too,
/// `rest` is the collector, for take_partial() (or, after errc::no_memory and errc::budget, to go on with); it is empty
/// where nothing had begun. What the two were before is dropped.
template <class Source>
status collect(Source&& source, buffer& body, collector& rest, const options& with = {},
               const pool& from = pool::process_default())
{
  body = buffer();
  rest = collector();
  const brimful_options c = detail::to_c(with, "brimful::collect");
  const detail::exact_memory memory(with.allocator, with.padding);
  brimful_pool* const pool_handle = from.handle("brimful::collect");
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  brimful_buffer* made = nullptr;
  brimful_collector* left = nullptr;
  const brimful_status came = brimful_collect(pool_handle, &c, caller.call, &caller, &made, &left);
  body = buffer::adopt(made, with.padding);
  rest = bridge::maker::rest(left, memory, false);
  return caller.end(came, "brimful::collect", left);
}

/// Reads a whole body from the source and returns it as an exact buffer, from options::allocator or malloc. As collect().
template <class Source>
exact_buffer collect_exact(Source&& source, const options& with = {}, const pool& from = pool::process_default())
{
  const brimful_options c = detail::to_c(with, "brimful::collect_exact");
  const detail::exact_memory memory(with.allocator, with.padding);
  brimful_pool* const pool_handle = from.handle("brimful::collect_exact");
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  void* data = nullptr;
  std::size_t length = 0;
  const brimful_status came = brimful_collect_exact(pool_handle, &c, caller.call, &caller, &data, &length, nullptr);
  exact_buffer body = bridge::maker::exact(data, length, memory);
  caller.end(came, "brimful::collect_exact", nullptr);
  return body;
}

/// The same for sources that stop, and for those who want what came; see collect().
template <class Source>
status collect_exact(Source&& source, exact_buffer& body, collector& rest, const options& with = {},
                     const pool& from = pool::process_default())
{
  body = exact_buffer();
  rest = collector();
  const brimful_options c = detail::to_c(with, "brimful::collect_exact");
  const detail::exact_memory memory(with.allocator, with.padding);
  brimful_pool* const pool_handle = from.handle("brimful::collect_exact");
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  void* data = nullptr;
  std::size_t length = 0;
  brimful_collector* left = nullptr;
  const brimful_status came = brimful_collect_exact(pool_handle, &c, caller.call, &caller, &data, &length, &left);
  body = bridge::maker::exact(data, length, memory);
  rest = bridge::maker::rest(left, memory, false);
  return caller.end(came, "brimful::collect_exact", left);
}

/// Reads a whole body from the source into your own memory, as collector::into() does, and returns how many bytes lie
/// there. As collect(); where it throws, what came lies in the target, and options::info says how much.
template <class Source> std::size_t collect_into(Source&& source, span<std::byte> target, const options& with = {})
{
  const brimful_options c = detail::to_c(with, "brimful::collect_into");
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  std::size_t length = 0;
  const brimful_status came =
      brimful_collect_into(&c, caller.call, &caller, target.data(), target.size(), &length, nullptr);
  caller.end(came, "brimful::collect_into", nullptr);
  return length;
}

/// The same for sources that stop; see collect(). `length` says how many bytes lie in the target on every outcome, what
/// is thrown included. Until `rest` goes, the target must stay where it is.
template <class Source>
status collect_into(Source&& source, span<std::byte> target, std::size_t& length, collector& rest,
                    const options& with = {})
{
  length = 0;
  rest = collector();
  const brimful_options c = detail::to_c(with, "brimful::collect_into");
  const detail::exact_memory memory(with.allocator, 0);
  bridge::caller<std::remove_reference_t<Source>> caller(source);
  brimful_collector* left = nullptr;
  const brimful_status came =
      brimful_collect_into(&c, caller.call, &caller, target.data(), target.size(), &length, &left);
  rest = bridge::maker::rest(left, memory, true);
  return caller.end(came, "brimful::collect_into", left);
}

// ---- the hand-off queue

/// What waits in a queue, and whether it can be gone on with.
struct waiting {
  /// ok (with no pieces: the end), pending: nothing waits now.
  brimful::status status;
  /// The pieces where they lie; valid until read(), skip(), move_to() or the queue's end, whatever the producer does.
  segment_list pieces;
};

/// A first-in first-out queue of bytes between a producer and a reader, in blocks of a pool, up to a capacity. The
/// producer writes, or fills windows, and says at last that it has ended; the reader reads, looks at what waits, or lets
/// a collector have it. Nothing ever waits: the producer gets pending where it is full, the reader where it is empty.
///
/// Threads: one at a time. A producer and a reader on two threads share it behind a lock of yours, held for one call;
/// copying what peek() showed, and filling a window, need no lock.
class queue {
public:
  /// Makes a queue in which at most `capacity` bytes wait; none: as many as there is memory for. Throws errc::invalid: a
  /// capacity of 0, an empty pool; errc::no_memory.
  explicit queue(std::optional<std::uint64_t> capacity = std::nullopt, const pool& from = pool::process_default())
  {
    brimful_queue* made = nullptr;
    detail::checked(brimful_queue_new(from.handle("brimful::queue"), detail::to_c(capacity), &made), "brimful::queue");
    handle_.reset(made);
  }

  /// Takes over a C handle; NULL gives an empty object.
  static queue adopt(brimful_queue* handle) noexcept { return queue(detail::adopted{}, handle); }

  /// Copies bytes to the tail, as many as there is room for. ok: all; pending: it is full now, and `length` of them were
  /// taken. Throws errc::no_memory, errc::budget: nothing was taken; errc::state: it was ended, or a window is out;
  /// errc::busy; errc::invalid: empty object, NULL with a length.
  [[nodiscard]] transfer write(span<const std::byte> bytes)
  {
    transfer written{status::ok, 0};
    written.status = detail::checked(brimful_queue_write(handle_.get(), bytes.data(), bytes.size(), &written.length),
                                     "brimful::queue::write");
    return written;
  }

  /// A window at the tail, to be filled from the start and handed back with commit(); empty where the queue is full now.
  /// `want` is a wish in bytes, 0 for none. Throws errc::no_memory, errc::budget: nothing changed; errc::state: it was
  /// ended; errc::busy; errc::invalid: empty object.
  span<std::byte> reserve(std::size_t want = 0)
  {
    void* window = nullptr;
    std::size_t room = 0;
    detail::checked(brimful_queue_reserve(handle_.get(), want, &window, &room), "brimful::queue::reserve");
    return span<std::byte>(static_cast<std::byte*>(window), room);
  }

  /// Takes the window back with its first `filled` bytes filled. Throws errc::contract: more than its room, nothing of it
  /// counts and the queue has ended with this error; errc::state: no window is out; errc::busy; errc::invalid.
  void commit(std::size_t filled)
  {
    detail::checked(brimful_queue_commit(handle_.get(), filled), "brimful::queue::commit");
  }

  /// Says that no more will come. After the last byte the reader sees the end, or where `failure` is given, which is
  /// negative and may be a number of yours, an error with this code. Throws errc::state: ended before, or a window is
  /// out; errc::busy; errc::invalid: empty object, or a number above 0.
  void end(brimful_status failure = BRIMFUL_OK)
  {
    detail::checked(brimful_queue_end(handle_.get(), failure), "brimful::queue::end");
  }

  /// Copies bytes from the head to the target, as many as wait and it has room for. ok: `length` bytes, 0 is the end;
  /// pending: none waits now; more: bytes wait, but the target is empty. Throws what end() was given, once all was read;
  /// errc::busy; errc::invalid: empty object, NULL with a length.
  [[nodiscard]] transfer read(span<std::byte> target)
  {
    transfer came{status::ok, 0};
    came.status = detail::checked(brimful_queue_read(handle_.get(), target.data(), target.size(), &came.length),
                                  "brimful::queue::read");
    return came;
  }

  /// Shows what waits where it lies, from the head on: its first pieces, at most 16. Nothing leaves the queue: see skip().
  /// Throws what end() was given, once all was read; errc::busy; errc::invalid: empty object.
  waiting peek() const
  {
    waiting shown{status::ok, {}};
    std::array<brimful_slice, 16> slices{};
    std::size_t count = 0;
    shown.status = detail::checked(brimful_queue_peek(handle_.get(), slices.data(), slices.size(), &count),
                                   "brimful::queue::peek");
    for (std::size_t i = 0; i < count; i++)
      shown.pieces.add(slices[i]);
    return shown;
  }

  /// Drops `length` bytes from the head. Throws errc::invalid: fewer wait, or an empty object; errc::busy.
  void skip(std::size_t length)
  {
    detail::checked(brimful_queue_skip(handle_.get(), length), "brimful::queue::skip");
  }

  /// Gives what waits to a collector: whole blocks move as they lie where it has the same pool. ok: `length` bytes, 0 is
  /// the end, which is not passed on; pending: none waits now; more: bytes wait, but the body takes none. Throws what
  /// end() was given, and what collector::write() throws; is_complete() of the collector tells the two apart.
  [[nodiscard]] transfer move_to(collector& target)
  {
    transfer moved{status::ok, 0};
    moved.status =
        detail::checked(brimful_queue_move(handle_.get(), target.get(), &moved.length), "brimful::queue::move_to");
    return moved;
  }

  /// How many bytes wait. 0 where empty.
  std::uint64_t length() const noexcept { return brimful_queue_length(handle_.get()); }

  /// Whether this is a queue, and not an empty object.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The C handle, which stays owned; NULL where empty.
  brimful_queue* get() const noexcept { return handle_.get(); }

  /// Gives the C handle up, for brimful_queue_free; the object is empty then.
  [[nodiscard]] brimful_queue* release() noexcept { return handle_.release(); }

private:
  queue(detail::adopted, brimful_queue* handle) noexcept : handle_(handle) {}

  detail::owner<brimful_queue, brimful_queue_free> handle_;
};

} // namespace with_std_span, with_own_span

} // namespace brimful

/// @cond Doxygen does not know the template.
template <> struct std::is_error_code_enum<brimful::errc> : std::true_type {};
/// @endcond

#endif
