/**
 * @mainpage brimful
 *
 * Reads a whole body (an HTTP response, a database value, an upload, a pipe) into memory, without copies while it
 * grows, with limits and lengths that hold on every path, and nothing lost when it stops.
 *
 * The header brimful.h is the manual. It is generated from the library's source, where these comments live.
 *
 * The shortest use
 * ----------------
 *
 *     static brimful_status from_stdin(void *context, void *window, size_t room, size_t *filled)
 *     {
 *         ssize_t count = read(0, window, room);
 *         if (count < 0)
 *             return errno == EINTR ? BRIMFUL_RETRY : errno == EAGAIN ? BRIMFUL_PENDING : -errno;
 *         *filled = (size_t)count;
 *         return BRIMFUL_OK;
 *     }
 *
 *     brimful_buffer *buffer;
 *     brimful_status status = brimful_collect(NULL, NULL, from_stdin, NULL, &buffer, NULL);
 *     if (status == BRIMFUL_OK) {
 *         const void *data;
 *         size_t length;
 *         if (brimful_buffer_data(buffer, &data, &length) == BRIMFUL_OK)
 *             use(data, length);
 *         brimful_buffer_release(buffer);
 *     }
 *
 * Terms
 * -----
 *
 * - source: where bytes come from: a callback that fills windows, or you, by writing or committing
 * - collector: owns a body while it arrives; it can stop at any byte and go on later
 * - window: the piece of writable memory that is to be filled next, and its room in bytes
 * - block: a piece of memory rented from a pool
 * - pool: recycles blocks, within a cap of bytes
 * - queue: hands bytes from a producer to a reader, up to a capacity, or on to a collector
 * - pooled buffer: the result that lies in blocks, without a copy; released by its user
 * - exact buffer: the result in memory of exactly its length, made by malloc or your allocator, and yours
 * - target: memory of your own that a body is read into, as far as it fits
 * - slice: a part of a buffer that shares its memory; and the struct that shows a piece of memory
 * - partial: what had arrived of a body that did not end well; it can be taken as a pooled buffer
 * - limit, length: the most bytes allowed, and the bytes announced: two different things
 * - complete: all bytes are there; failed: an error ended the body; taken: its result has been handed out
 *
 * Conventions
 * -----------
 *
 * What holds for every function, unless its comment says otherwise.
 *
 * - Names: every function and type begins with brimful_, every macro with BRIMFUL_. Functions are a noun and a verb.
 * - Status: what can fail returns a brimful_status: 0 fine, above 0 not an error, below 0 an error. Counts and pointers
 *   come back through out-parameters, which are set to 0 or NULL first, and written once more only when the call
 *   succeeds. A function's comment lists every status that it returns and what is left after each. "The body's own
 *   error" there is the error that ended the body before: BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT,
 *   _NO_PROGRESS or _CANCELLED. After BRIMFUL_ERR_INVALID, _STATE and _BUSY everything is as it was before the call.
 * - NULL: options NULL are the defaults; a pool NULL is the default pool of the process; a pointer beside a length of 0
 *   may be NULL; `_free` and `_release` of NULL do nothing; functions that answer a count answer 0. Every other NULL is
 *   BRIMFUL_ERR_INVALID. A handle is one that was given out and has not been freed or released for the last time since;
 *   anything else is undefined, as with free().
 * - Ownership: what comes back through an out-parameter is yours, to be given back with the function that the comment
 *   names; what a function takes stays yours, but for `_free` and `_release`.
 * - Sizes: in bytes, unsigned, and checked: a sum that would not fit is an error, never a wrap.
 * - Structs: begin with struct_size, which is the sizeof of your struct; the INIT macros and `_init` functions set it,
 *   and in structs that the library fills you set it. Later releases only append fields. A struct smaller than the
 *   library's gets defaults for what it lacks, or is filled as far as it goes; in a larger one the part that the library
 *   does not know must be 0, and is set to 0 where the library fills. A struct_size that ends within a field, or is
 *   above 1024, is BRIMFUL_ERR_INVALID.
 * - Memory: the library takes memory from malloc, from address space that it reserves itself, and from allocators that
 *   you give. That none is left is a status, BRIMFUL_ERR_NO_MEMORY, and changes nothing. The system may still refuse
 *   memory when it is first touched (overcommit); that is between you and the kernel.
 * - Threads: each type's comment and each function's says it. No function starts a thread, and none waits for one.
 * - Failures: a failure inside the library is caught and becomes BRIMFUL_ERR_PANIC, or 0 or NULL where a function has no
 *   status. Your callbacks must not throw C++ exceptions through the library, nor longjmp out of it.
 *
 * Stability
 * ---------
 *
 * The shared library's name, libbrimful.so.0, has the first number of the release (BRIMFUL_VERSION_MAJOR). While that
 * number stays, a program that was compiled before runs with any later release without being compiled again.
 *
 * - Stable: every name, number, parameter and field of this header, its meaning, and the layout of every struct. Numbers
 *   are never used again for something else, and a function is not taken away. Structs grow at their end only, functions
 *   and statuses may be added: treat a negative status that you do not know as an error, and a positive one as one that
 *   the next call may resolve.
 * - May change with any release: the texts of brimful_status_text(); the sizes of windows and blocks, and when pieces are
 *   contiguous; the numbers of brimful_info and brimful_pool_statistics that count work and memory (source_calls, copied,
 *   rents, allocations, allocated_bytes, peak_held, waste); the default values that 0 stands for in brimful_options.
 * - Not part of the interface: what handles point to, and every name of the library that this header does not declare.
 */

/**
 * @file brimful.h
 * Everything that the library exports. The main page has the terms and conventions.
 */

#ifndef BRIMFUL_H
#define BRIMFUL_H

#include <stddef.h>
#include <stdint.h>

/**
 * A brimful_options with every default: unknown length, no limit but the pool's, pooled result.
 *
 *     brimful_options options = BRIMFUL_OPTIONS_INIT;
 *     options.limit = 1 << 20;
 */
#define BRIMFUL_OPTIONS_INIT                                                                                           \
  { sizeof(brimful_options), BRIMFUL_UNKNOWN, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_END_LENGTH, 0,               \
    BRIMFUL_PREFER_POOLED, 0, 0, 0, 0, 0, NULL, NULL, NULL }

/**
 * A brimful_pool_options with every default: 64 MiB retained, no budget, no limit, idle memory given back after 10 s.
 */
#define BRIMFUL_POOL_OPTIONS_INIT                                                                                      \
  { sizeof(brimful_pool_options), UINT64_C(67108864), BRIMFUL_UNLIMITED, BRIMFUL_UNLIMITED, UINT64_C(10000), 0, 0,     \
    NULL }

/**
 * The call did what it says.
 */
#define BRIMFUL_OK 0

/**
 * The source has nothing more now. Nothing is lost: call again to go on, as often as needed.
 */
#define BRIMFUL_PENDING 1

/**
 * Only a callback answers this: it was interrupted and is asked again at once.
 */
#define BRIMFUL_RETRY 2

/**
 * This call's share is used; call again to go on.
 */
#define BRIMFUL_MORE 3

/**
 * An argument or an option is out of range, or NULL where it may not be. Nothing was done.
 */
#define BRIMFUL_ERR_INVALID (-1)

/**
 * The call does not fit what the object is doing. Nothing was done.
 */
#define BRIMFUL_ERR_STATE (-2)

/**
 * The object is in use by a call that has not returned: its own callback runs. Nothing was done.
 */
#define BRIMFUL_ERR_BUSY (-3)

/**
 * No memory could be had. Nothing changed: the same call may be made again, or what came be taken as the partial.
 */
#define BRIMFUL_ERR_NO_MEMORY (-4)

/**
 * The pool's budget is used up. Nothing changed: the same call may be made again, or what came be taken.
 */
#define BRIMFUL_ERR_BUDGET (-5)

/**
 * The body has more bytes than the limit allows. Its first `limit` bytes can be taken as the partial.
 */
#define BRIMFUL_ERR_LIMIT (-6)

/**
 * The source ended before the announced length. What came can be taken as the partial.
 */
#define BRIMFUL_ERR_SHORT (-7)

/**
 * The source delivered more than the announced length. The announced bytes can be taken as the partial.
 */
#define BRIMFUL_ERR_LONG (-8)

/**
 * The callback answered an error of its own; its number is brimful_info.source_error. What came can be taken.
 */
#define BRIMFUL_ERR_SOURCE (-9)

/**
 * The callback claimed more bytes than it had room for, or answered what is no answer. Nothing of that call counts;
 * what came before can be taken.
 */
#define BRIMFUL_ERR_CONTRACT (-10)

/**
 * The callback answered BRIMFUL_RETRY more than 1000 times in a row without a byte. What came can be taken.
 */
#define BRIMFUL_ERR_NO_PROGRESS (-11)

/**
 * The body was cancelled. What came can be taken.
 */
#define BRIMFUL_ERR_CANCELLED (-12)

/**
 * The bytes are not text in the encoding; the offset of the first that are not comes with it. The bytes stay as they
 * are: they can be decoded with BRIMFUL_DECODE_REPLACE, or in another encoding.
 */
#define BRIMFUL_ERR_ENCODING (-13)

/**
 * The library failed inside; the failure was caught. Only freeing the object is sure to be right now.
 */
#define BRIMFUL_ERR_PANIC (-14)

/**
 * The release that this header belongs to: its first number. Another one means another ABI.
 */
#define BRIMFUL_VERSION_MAJOR 0

/**
 * The release that this header belongs to: its second number.
 */
#define BRIMFUL_VERSION_MINOR 1

/**
 * The release that this header belongs to: its third number.
 */
#define BRIMFUL_VERSION_PATCH 0

/**
 * The release that this header belongs to, as one number that grows from release to release: major * 65536 +
 * minor * 256 + patch. brimful_version_number() tells that of the library that runs.
 */
#define BRIMFUL_VERSION_NUMBER 256

/**
 * A length or a size hint that is not known.
 */
#define BRIMFUL_UNKNOWN UINT64_MAX

/**
 * A limit or a budget that there is not.
 */
#define BRIMFUL_UNLIMITED UINT64_MAX

/**
 * For brimful_options.end: the body is complete as soon as `length` bytes have arrived, and the source is never
 * asked for a byte beyond it, so that a connection stays usable for what comes next.
 */
#define BRIMFUL_END_LENGTH 0

/**
 * For brimful_options.end: after `length` bytes the source must also say that it ends. It is asked once more, for 1
 * byte; if it has one, the outcome is BRIMFUL_ERR_LONG.
 */
#define BRIMFUL_END_EOF 1

/**
 * For brimful_options.prefer: be ready for brimful_collector_finish.
 */
#define BRIMFUL_PREFER_POOLED 0

/**
 * For brimful_options.prefer: be ready for brimful_collector_finish_exact. A length that is known is then read
 * straight into the exact result.
 */
#define BRIMFUL_PREFER_EXACT 1

/**
 * A flag of brimful_options: more than `limit` bytes is no error; the result has the first `limit` bytes and says
 * that it was cut.
 */
#define BRIMFUL_TRUNCATE 1

/**
 * A flag of brimful_options: windows are cleared before the source sees them, so that it never sees bytes of another
 * body (what it has itself written beyond what it claimed may still be there). Without it they hold whatever was there,
 * which is fine for a source that only writes, as read(2) does.
 */
#define BRIMFUL_SCRUB 2

/**
 * In brimful_info.state: bytes may come.
 */
#define BRIMFUL_STATE_OPEN 0

/**
 * In brimful_info.state: a window is out and waits for its commit.
 */
#define BRIMFUL_STATE_WINDOW_OUT 1

/**
 * In brimful_info.state: the body is complete and waits to be taken.
 */
#define BRIMFUL_STATE_COMPLETE 2

/**
 * In brimful_info.state: an error ended the body; what came can be taken.
 */
#define BRIMFUL_STATE_FAILED 3

/**
 * In brimful_info.state: the result or the partial has been taken.
 */
#define BRIMFUL_STATE_TAKEN 4

/**
 * A flag of brimful_pool_options: a body lies in a list of heap blocks, each twice as large as the one before, and
 * no address space is reserved. Without it, a large body lies in one range of address space that grows in place
 * (where the system has that), so that it is contiguous from the start. Meant for processes whose address space is
 * counted. Pools with an allocator of their own always work like this.
 */
#define BRIMFUL_POOL_LIST 1

/**
 * A flag of brimful_pool_options: every window of every body on the pool is cleared before its source sees it, as
 * with BRIMFUL_SCRUB in each body's options. So a source that reads its window never sees bytes of another body.
 */
#define BRIMFUL_POOL_SCRUB 2

/**
 * For brimful_buffer_decode: what is no text becomes U+FFFD instead of an error.
 */
#define BRIMFUL_DECODE_REPLACE 1

/**
 * The pooled result: a body in the blocks that it arrived in. Its bytes never change.
 *
 * Threads: any number of threads may read it at once; it may be retained and released on any.
 * Lifetime: counted. It lives until brimful_buffer_release was called once for the call that gave it and once for
 * each brimful_buffer_retain; then its memory goes back to the pool, and nothing that it showed may be used.
 */
typedef struct brimful_buffer brimful_buffer;

/**
 * Stops bodies from outside. Put it into brimful_options.cancel; when it is triggered, each of its bodies that
 * reads ends with BRIMFUL_ERR_CANCELLED. That is looked at before and after each call of the source, so it does not
 * interrupt a source that blocks; brimful_collector_write, _reserve and _commit do not look at it. It stays
 * triggered: a body that is collected with it later is cancelled at once.
 *
 * Threads: all its functions may be called from any thread at any time.
 * Lifetime: counted. It lives until every hold, the collectors' own included, has been given back.
 */
typedef struct brimful_cancel brimful_cancel;

/**
 * A collector owns a body while it arrives. It can stop at any byte and go on later, and going on costs the new
 * bytes only. It is fed in one of four ways, which may be mixed: brimful_collector_read asks a callback;
 * brimful_collector_read_fd reads a file descriptor; brimful_collector_write takes bytes that you have;
 * brimful_collector_reserve gives you a window to fill and brimful_collector_commit takes it back.
 *
 * It is open until the body is complete, or an error ends it (failed); then its result, or what came, can be taken
 * once (taken); then it can be freed or reset. A call that does not fit answers BRIMFUL_ERR_STATE and changes
 * nothing; after an error that ended the body every feeding call answers that error again.
 *
 * Threads: by one thread at a time; it may move from one to another. From inside its own callback every function
 * answers BRIMFUL_ERR_BUSY (or 0 where it answers a count), but for brimful_collector_info, which works, and
 * brimful_collector_free, which takes effect when the call around the callback returns.
 * Lifetime: yours from brimful_collector_new or _new_into, or from `rest` of a one-shot call, until
 * brimful_collector_free. It holds its pool and its cancel object by itself.
 */
typedef struct brimful_collector brimful_collector;

/**
 * A pool recycles the memory that bodies lie in: what a released buffer gives back serves the next body, warm. NULL
 * wherever a pool is asked for means the default pool of the process.
 *
 * Threads: may be used by any number of threads at once, and after fork. No call waits for another.
 * Lifetime: yours from brimful_pool_new until brimful_pool_release. Collectors and buffers hold the pool by
 * themselves, so they may outlive your hold.
 */
typedef struct brimful_pool brimful_pool;

/**
 * A first-in first-out queue of bytes between a producer and a reader, in blocks of a pool. The producer writes, or
 * fills windows (brimful_queue_reserve, brimful_queue_commit), and says at last that it has ended (brimful_queue_end). The
 * reader reads, looks at what waits where it lies (brimful_queue_peek, brimful_queue_skip), or lets a collector have it
 * (brimful_queue_move), which copies nothing where whole blocks can move. Nothing ever waits: the producer gets
 * BRIMFUL_PENDING when as many bytes wait as the capacity says, the reader when none does.
 *
 * Blocks are of 4 KiB at first and grow with what waits, to 64 KiB (256 KiB where the pool reserves no address space), and
 * each goes back to the pool as soon as it was read.
 * Beside the bytes that wait, a queue holds at most what was read of its first block and what is not yet filled of its
 * last one; an empty queue with no window out holds at most 16 KiB, an ended one that was read nothing.
 *
 * The producer's end is for good: afterwards its calls answer BRIMFUL_ERR_STATE. The reader's calls fit in every state,
 * while a window is out too.
 *
 * Threads: by one thread at a time; it may move from one to another. A producer and a reader on two threads share it
 * behind a lock of yours, held for one call; copying what brimful_queue_peek showed, and filling a window, need no lock.
 * A call from inside an allocator's function, while the call around it is inside the queue, answers BRIMFUL_ERR_BUSY.
 * Lifetime: yours from brimful_queue_new until brimful_queue_free. It holds its pool by itself. What moved to a
 * collector belongs to that, and may outlive the queue.
 */
typedef struct brimful_queue brimful_queue;

/**
 * What a call answers: 0 is fine, above 0 is not an error, below 0 is an error. Numbers are never used again for
 * something else, so they may be stored and compared with those of any later release.
 */
typedef int32_t brimful_status;

/**
 * Your own allocator. For a collector (brimful_options.allocator) it makes the exact results, which you then free
 * with it; for a pool (brimful_pool_options.allocator) it makes the blocks.
 *
 * The struct is copied when the pool or collector is created or the one-shot call is made; what `context` points to
 * is not, and must outlive the last buffer and the last exact result whose memory came from it.
 *
 * Threads: the functions may be called from every thread that uses the pool or that releases one of its buffers, by
 * several at once; they synchronise by themselves. They must not throw, nor longjmp, nor call the library with the
 * object that is in use.
 * Lifetime: the struct itself may go as soon as the call that was given it returns.
 */
typedef struct brimful_allocator {
  /**
   * sizeof(brimful_allocator).
   */
  size_t struct_size;
  /**
   * Gives `size` bytes, aligned to 16 or more, or NULL when it cannot, which becomes BRIMFUL_ERR_NO_MEMORY. `size`
   * is never 0: for the empty result 1 byte is asked for. Must not be NULL.
   */
  void *(*allocate)(void *context, size_t size);
  /**
   * Makes `memory` of `old_size` bytes `new_size` bytes large, its first bytes kept, and returns where it lies now;
   * NULL, with nothing changed, when it cannot. The pointer itself may be NULL: then a body whose length is not
   * known is copied once into its exact result.
   */
  void *(*reallocate)(void *context, void *memory, size_t old_size, size_t new_size);
  /**
   * Takes back memory of `size` bytes: the size that was last asked for it. Must not be NULL.
   */
  void (*deallocate)(void *context, void *memory, size_t size);
  /**
   * Given to each of the functions as it is.
   */
  void *context;
} brimful_allocator;

/**
 * What is known of one body. Counts start at 0 with each body; bytes where nothing else is said. Set struct_size
 * before the call that fills it.
 *
 * Threads: a plain struct of yours.
 * Lifetime: yours; it holds numbers only.
 */
typedef struct brimful_info {
  /**
   * sizeof(brimful_info).
   */
  size_t struct_size;
  /**
   * The error that ended the body, or 0. After a one-shot call: what the call returned.
   */
  brimful_status status;
  /**
   * The callback's own error where status is BRIMFUL_ERR_SOURCE; else 0.
   */
  int32_t source_error;
  /**
   * 1 when the result was cut at the limit (BRIMFUL_TRUNCATE), else 0.
   */
  int32_t truncated;
  /**
   * One of BRIMFUL_STATE_...
   */
  int32_t state;
  /**
   * Bytes that the source delivered, those beyond a limit or a length included.
   */
  uint64_t received;
  /**
   * The announced length, or BRIMFUL_UNKNOWN.
   */
  uint64_t expected;
  /**
   * Bytes of the result, or of what can be taken so far.
   */
  uint64_t length;
  /**
   * Calls of the source. A count.
   */
  uint64_t source_calls;
  /**
   * How often the source had nothing (BRIMFUL_PENDING). A count.
   */
  uint64_t pendings;
  /**
   * Bytes that were moved again after they had landed. What a realloc moves counts as an allocation instead.
   */
  uint64_t copied;
  /**
   * Blocks rented from the pool. A count.
   */
  uint64_t rents;
  /**
   * Pieces of memory obtained fresh from the system or the allocator. A count; what a pool recycles is none.
   */
  uint64_t allocations;
  /**
   * Bytes of fresh memory: obtained from a heap, or touched for the first time in reserved address space.
   */
  uint64_t allocated_bytes;
  /**
   * The most bytes of memory held at once.
   */
  uint64_t peak_held;
  /**
   * Bytes that the result holds beyond its length.
   */
  uint64_t waste;
} brimful_info;

/**
 * What a body may be, and how it is collected. Begin with BRIMFUL_OPTIONS_INIT or brimful_options_init and change
 * what you need; sizes are in bytes. NULL in the place of options means the same as BRIMFUL_OPTIONS_INIT. A value out
 * of range is BRIMFUL_ERR_INVALID when the options are used, with nothing done.
 *
 * Threads: a plain struct of yours. It is read, never written, during the call that is given it.
 * Lifetime: may go as soon as that call returns; what `cancel` points to is held by the collector itself.
 */
typedef struct brimful_options {
  /**
   * sizeof(brimful_options).
   */
  size_t struct_size;
  /**
   * The body has exactly this many bytes, and that is enforced: fewer is BRIMFUL_ERR_SHORT, more BRIMFUL_ERR_LONG.
   * Or BRIMFUL_UNKNOWN. Above `limit` it is BRIMFUL_ERR_LIMIT at the first call, before the source is asked.
   */
  uint64_t length;
  /**
   * About how many bytes are expected, or BRIMFUL_UNKNOWN. Only advice: too small or too big is no error.
   */
  uint64_t size_hint;
  /**
   * The most bytes that the body may have; 0 allows only the empty body (options that are all zero are a mistake:
   * use INIT). BRIMFUL_UNLIMITED: the pool's own limit, if it has one.
   */
  uint64_t limit;
  /**
   * BRIMFUL_END_LENGTH or BRIMFUL_END_EOF. Of no matter where the length is not known.
   */
  uint32_t end;
  /**
   * BRIMFUL_TRUNCATE, BRIMFUL_SCRUB, both (|) or 0.
   */
  uint32_t flags;
  /**
   * BRIMFUL_PREFER_POOLED or BRIMFUL_PREFER_EXACT.
   */
  uint32_t prefer;
  /**
   * So many zero bytes are readable behind an exact result, and behind what brimful_buffer_data and
   * brimful_buffer_to_exact give; no length counts them. At most 65536. 1 makes a C string of a text, 64 lets a parser
   * read beyond the end by whole vectors. They are not behind segments, slices and a target of the caller's own.
   */
  uint32_t padding;
  /**
   * The most memory that a mere announcement, by `length` or `size_hint`, can cause to be taken. 0 is the default:
   * 16 MiB. What is above it is taken as bytes arrive.
   */
  uint64_t max_prealloc;
  /**
   * The first block of a body of unknown length: 4 KiB to 1 GiB. 0 is the default: 16 KiB.
   */
  uint64_t first_block;
  /**
   * The most bytes asked of the source at once: 4 KiB to 1 GiB. 0 is the default: 1 MiB.
   */
  uint64_t max_window;
  /**
   * The most bytes that one call of brimful_collector_read, _read_fd or a one-shot function takes before it answers
   * BRIMFUL_MORE, so that one fast source cannot hold an event loop. 0 is the default: none.
   */
  uint64_t max_step;
  /**
   * Where exact results come from. NULL: malloc, realloc and free.
   */
  const struct brimful_allocator *allocator;
  /**
   * What stops this body from outside, or NULL. The collector takes a hold of its own.
   */
  struct brimful_cancel *cancel;
  /**
   * Filled by the one-shot calls on every outcome, BRIMFUL_ERR_INVALID included, or NULL. Its struct_size must be
   * set. Other calls do not look at it: see brimful_collector_info.
   */
  struct brimful_info *info;
} brimful_options;

/**
 * What a pool is to be like. Begin with BRIMFUL_POOL_OPTIONS_INIT or brimful_pool_options_init.
 *
 * Threads: a plain struct of yours. It is read, never written, during the call that is given it.
 * Lifetime: may go as soon as that call returns.
 */
typedef struct brimful_pool_options {
  /**
   * sizeof(brimful_pool_options).
   */
  size_t struct_size;
  /**
   * The most bytes of touched memory that lie in the pool for reuse. Default: 64 MiB. 0 keeps nothing.
   */
  uint64_t max_retained;
  /**
   * The most bytes that all bodies together may hold; beyond it a body gets BRIMFUL_ERR_BUDGET, at once. Default:
   * BRIMFUL_UNLIMITED.
   */
  uint64_t budget;
  /**
   * The limit of every body on this pool whose own options have none. Default: BRIMFUL_UNLIMITED.
   */
  uint64_t limit;
  /**
   * Memory that has not been used for this long is given back to the system at the pool's next use. In
   * milliseconds. Default: 10000.
   */
  uint64_t idle_milliseconds;
  /**
   * BRIMFUL_POOL_LIST, BRIMFUL_POOL_SCRUB, both (|) or 0.
   */
  uint32_t flags;
  /**
   * Must be 0.
   */
  uint32_t reserved;
  /**
   * Where blocks come from. NULL: the system.
   */
  const struct brimful_allocator *allocator;
} brimful_pool_options;

/**
 * What is known of a pool. Counts of blocks, and their bytes, since the pool was made. When no call is in progress,
 * allocated - freed = outstanding + retained, in counts and in bytes. Set struct_size before the call that fills it.
 *
 * Threads: a plain struct of yours.
 * Lifetime: yours; it holds numbers only.
 */
typedef struct brimful_pool_statistics {
  /**
   * sizeof(brimful_pool_statistics).
   */
  size_t struct_size;
  /**
   * Blocks given to bodies.
   */
  uint64_t rented;
  /**
   * Bytes of those blocks when they were given.
   */
  uint64_t rented_bytes;
  /**
   * Blocks given back by bodies.
   */
  uint64_t released;
  /**
   * Bytes of those blocks when they came back.
   */
  uint64_t released_bytes;
  /**
   * Blocks given to bodies that had been used before.
   */
  uint64_t reused;
  /**
   * Bytes of those blocks.
   */
  uint64_t reused_bytes;
  /**
   * Blocks obtained from the system or the allocator.
   */
  uint64_t allocated;
  /**
   * Bytes obtained, growth in place included.
   */
  uint64_t allocated_bytes;
  /**
   * Blocks given back to the system or the allocator.
   */
  uint64_t freed;
  /**
   * Bytes given back, those of cut blocks included.
   */
  uint64_t freed_bytes;
  /**
   * Blocks that bodies hold now.
   */
  uint64_t outstanding;
  /**
   * Bytes that bodies hold now.
   */
  uint64_t outstanding_bytes;
  /**
   * Blocks that lie in the pool now.
   */
  uint64_t retained;
  /**
   * Bytes that lie in the pool now.
   */
  uint64_t retained_bytes;
  /**
   * The most bytes that were outstanding and retained together.
   */
  uint64_t peak_bytes;
  /**
   * Blocks that could not be had: no memory, or beyond the budget.
   */
  uint64_t refused;
} brimful_pool_statistics;

/**
 * A source that is asked for bytes: puts at most `room` bytes at the start of `window` and says in *filled how many.
 * *filled is 0 before the call, `room` is never 0. The answer is one of
 *
 * - BRIMFUL_OK: *filled bytes came; with 0 bytes this is the end of the body. Few bytes are normal.
 * - BRIMFUL_PENDING: nothing more now; the call around it returns and can be made again later.
 * - BRIMFUL_RETRY: interrupted; asked again at once.
 * - A negative number: an error of your own; the call returns BRIMFUL_ERR_SOURCE and brimful_info keeps the number.
 *
 * and bytes may come with each of them; they count, and before what comes with them. *filled above `room`, and an
 * answer that is none of these, is BRIMFUL_ERR_CONTRACT, and nothing of that call counts.
 *
 * The window's memory is write-only: what is in it may be anything, bytes of other bodies too (see BRIMFUL_SCRUB).
 * It must not be used after the callback has returned.
 *
 * Threads: called on the thread of the call that it is given to, only during that call. It must not throw, nor
 * longjmp out. Calls on the collector that it is called by answer BRIMFUL_ERR_BUSY, but brimful_collector_info works,
 * and brimful_collector_free takes effect when the call around it returns. Everything else may be called.
 * Lifetime: neither it nor `context` is used after that call has returned.
 */
typedef brimful_status (*brimful_read_fn)(void *context, void *window, size_t room, size_t *filled);

/**
 * A piece of memory that is shown, laid out like struct iovec. Not to be written to.
 *
 * Threads: a plain struct of yours.
 * Lifetime: what `data` points to belongs to the object that showed it; see the function that filled it.
 */
typedef struct brimful_slice {
  /**
   * The first byte.
   */
  const void *data;
  /**
   * How many bytes.
   */
  size_t length;
} brimful_slice;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The name of a status, in small letters: "limit" for BRIMFUL_ERR_LIMIT, "unknown" for a number that is none.
 *
 * Never NULL. The text lives as long as the library; do not free it.
 *
 * Threads: any, at any time.
 */
const char *brimful_status_name(brimful_status status);

/**
 * One English sentence on what a status means and what can be done now.
 *
 * Never NULL. The text lives as long as the library; do not free it.
 *
 * Threads: any, at any time.
 */
const char *brimful_status_text(brimful_status status);

/**
 * BRIMFUL_VERSION_NUMBER of the library that runs, which may be newer than the header that was compiled with.
 *
 * Threads: any, at any time.
 */
uint32_t brimful_version_number(void);

/**
 * The release of the library that runs, for example "0.1.0".
 *
 * Never NULL. The text lives as long as the library; do not free it.
 *
 * Threads: any, at any time.
 */
const char *brimful_version(void);

/**
 * Does what BRIMFUL_OPTIONS_INIT does, for languages without macros: puts the defaults into the first `size` bytes of
 * *options, its struct_size included. `size` is what your own description of the struct has; what it has beyond this
 * release becomes 0. NULL, or a size below that of struct_size itself, does nothing.
 *
 * Threads: any, at any time.
 */
void brimful_options_init(struct brimful_options *options, size_t size);

/**
 * Frees an exact result that the default allocator made, exactly as free() does: for callers whose own free()
 * belongs to another C library. NULL does nothing. Not for results of an allocator of your own.
 *
 * Threads: any, at any time.
 */
void brimful_memory_free(void *memory);

/**
 * Makes a cancel object, not triggered. *cancel is a hold of yours: give it back with brimful_cancel_release.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: cancel is NULL.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *cancel is NULL.
 *
 * Threads: any, at any time.
 */
brimful_status brimful_cancel_new(struct brimful_cancel **cancel);

/**
 * Takes one more hold, to be given back with brimful_cancel_release, and returns cancel. NULL gives NULL.
 *
 * Threads: any, at any time.
 */
struct brimful_cancel *brimful_cancel_retain(struct brimful_cancel *cancel);

/**
 * Triggers it, from any thread, at any time, as often as you like. Nothing is waited for. NULL does nothing.
 *
 * Threads: any, at any time.
 */
void brimful_cancel_trigger(struct brimful_cancel *cancel);

/**
 * Gives one hold back; after the last one the object is gone. NULL does nothing.
 *
 * Threads: any, at any time.
 */
void brimful_cancel_release(struct brimful_cancel *cancel);

/**
 * Does what BRIMFUL_POOL_OPTIONS_INIT does, for languages without macros; see brimful_options_init.
 *
 * Threads: any, at any time.
 */
void brimful_pool_options_init(struct brimful_pool_options *options, size_t size);

/**
 * Makes a pool. options NULL is every default. *pool is yours: give it back with brimful_pool_release.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: pool is NULL, or an option is out of range.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *pool is NULL. No block is obtained yet.
 *
 * Threads: any number at once.
 */
brimful_status brimful_pool_new(const struct brimful_pool_options *options, struct brimful_pool **pool);

/**
 * The default pool of the process: the same one at every call, with every default. It need not be released, and
 * releasing it does nothing. Never NULL.
 *
 * Threads: any number at once.
 */
struct brimful_pool *brimful_pool_default(void);

/**
 * Fills *statistics with the pool's numbers. Cheap; exact when no call on the pool is in progress.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: statistics is NULL or its struct_size cannot be, and nothing was written.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: any number at once.
 */
brimful_status brimful_pool_stats(const struct brimful_pool *pool, struct brimful_pool_statistics *statistics);

/**
 * Gives memory that lies in the pool back to the system until at most `keep` bytes lie there, and returns how many
 * bytes were given back. What bodies and buffers hold is not touched.
 *
 * Threads: any number at once.
 */
size_t brimful_pool_trim(struct brimful_pool *pool, uint64_t keep);

/**
 * Lets go of a pool: it keeps no memory any more. Buffers that are out stay valid and collectors go on; their memory
 * goes when they do. The default pool and NULL: nothing happens.
 *
 * Threads: any number at once.
 */
void brimful_pool_release(struct brimful_pool *pool);

/**
 * Reads a whole body from `read` and gives it as a pooled buffer. pool NULL is the default pool, options NULL every
 * default; `context` goes to the callback as it is.
 *
 * - BRIMFUL_OK: *buffer has the body and is yours, to be given back with brimful_buffer_release; *rest is NULL.
 * - Anything else: *buffer is NULL, and *rest receives the collector with all that came, yours to be freed with
 *   brimful_collector_free; it is NULL where nothing had begun (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
 * - BRIMFUL_PENDING: the source has nothing now: go on with brimful_collector_read on *rest.
 * - BRIMFUL_MORE: options.max_step bytes came: the same.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed: the same. (Where not even *rest could be had, it is
 *   NULL and what came is gone.)
 * - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended; what came is to be
 *   had with brimful_collector_take_partial on *rest.
 * - BRIMFUL_ERR_STATE: it would be BRIMFUL_PENDING or BRIMFUL_MORE, and rest is NULL, so there was nowhere to put what
 *   came; it is gone.
 * - BRIMFUL_ERR_INVALID: read or buffer is NULL, or an option is out of range; the source was not called.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * rest may be NULL; what came before an error is then gone.
 *
 * Threads: any; the callback is called on the same one, before this returns.
 */
brimful_status brimful_collect(struct brimful_pool *pool,
                               const struct brimful_options *options,
                               brimful_read_fn read,
                               void *context,
                               struct brimful_buffer **buffer,
                               struct brimful_collector **rest);

/**
 * Reads a whole body from `read` and gives it as an exact buffer: memory of exactly its length. As brimful_collect,
 * but that options.prefer is taken as BRIMFUL_PREFER_EXACT.
 *
 * - BRIMFUL_OK: *data has the *length bytes of the body and is yours, to be freed with free(), or with
 *   options.allocator where one was given. For length 0 *data is not NULL and is to be freed too (an allocator was
 *   asked for 1 byte then). *rest is NULL.
 * - Anything else: *data is NULL, *length 0, and *rest receives the collector with all that came, yours to be freed with
 *   brimful_collector_free; it is NULL where nothing had begun (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
 * - BRIMFUL_PENDING, BRIMFUL_MORE: the source has nothing now, or options.max_step bytes came: go on with
 *   brimful_collector_read on *rest.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed: the same. Where the body is complete and only its exact
 *   memory could not be had, call brimful_collector_finish_exact or brimful_collector_finish on *rest. (Where not even
 *   *rest could be had, it is NULL and what came is gone.)
 * - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended; what came is to be
 *   had with brimful_collector_take_partial on *rest.
 * - BRIMFUL_ERR_STATE: it would be BRIMFUL_PENDING or BRIMFUL_MORE, and rest is NULL; what came is gone.
 * - BRIMFUL_ERR_INVALID: read, data or length is NULL, or an option is out of range; the source was not called.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * rest may be NULL; what came before an error is then gone.
 *
 * Threads: any; the callback is called on the same one, before this returns.
 */
brimful_status brimful_collect_exact(struct brimful_pool *pool,
                                     const struct brimful_options *options,
                                     brimful_read_fn read,
                                     void *context,
                                     void **data,
                                     size_t *length,
                                     struct brimful_collector **rest);

/**
 * Reads a whole body from `read` into your own memory: the `capacity` bytes at `target`; see brimful_collector_new_into
 * for what that means. *length says how many bytes of the body lie there, on every outcome; the bytes behind them are
 * as they were, but for what the callback itself wrote into its windows beyond what it claimed.
 *
 * - BRIMFUL_OK: the whole body lies in target; *rest is NULL.
 * - Anything else: what came lies in target, and *rest receives the collector, yours to be freed with
 *   brimful_collector_free; until then target must stay where it is. It is NULL where nothing had begun
 *   (BRIMFUL_ERR_INVALID, BRIMFUL_ERR_PANIC).
 * - BRIMFUL_PENDING, BRIMFUL_MORE: the source has nothing now, or options.max_step bytes came: go on with
 *   brimful_collector_read on *rest.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: the same; even without *rest what came lies in target.
 * - BRIMFUL_ERR_LIMIT: the body has more than `capacity` bytes, or than options.limit; *length bytes of it lie in
 *   target. With BRIMFUL_TRUNCATE that is BRIMFUL_OK, and brimful_info.truncated is 1.
 * - BRIMFUL_ERR_SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body ended.
 * - BRIMFUL_ERR_STATE: the source has nothing now, or its share is used, and rest is NULL: what came lies in target.
 * - BRIMFUL_ERR_INVALID: read or length is NULL, target is NULL with a capacity, capacity is beyond the address space,
 *   or an option is out of range; the source was not called, and target not touched.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: any; the callback is called on the same one, before this returns.
 */
brimful_status brimful_collect_into(const struct brimful_options *options,
                                    brimful_read_fn read,
                                    void *context,
                                    void *target,
                                    size_t capacity,
                                    size_t *length,
                                    struct brimful_collector **rest);

/**
 * Makes a collector. pool NULL is the default pool, options NULL every default. No memory for the body is taken yet.
 *
 * - BRIMFUL_OK: *collector is yours, to be freed with brimful_collector_free.
 * - BRIMFUL_ERR_INVALID: collector is NULL or an option is out of range.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *collector is NULL.
 *
 * Threads: any number at once.
 */
brimful_status brimful_collector_new(struct brimful_pool *pool,
                                     const struct brimful_options *options,
                                     struct brimful_collector **collector);

/**
 * Makes a collector whose body is to lie in your own memory: the `capacity` bytes at `target`. It is fed like any other,
 * can be suspended, and reset (the next body then begins at the start of the same memory). The body's bytes lie at the
 * start of target as they come; how many they are is brimful_info.length, on every outcome. Bytes behind them, and all
 * around, are never written to by the library (a callback may write anywhere in its window). More than fits is
 * BRIMFUL_ERR_LIMIT, as with a limit of `capacity`, and the byte that shows it never lies in target; an announced length
 * that does not fit is refused before the source is asked.
 *
 * brimful_collector_finish, _finish_exact and _take_partial give a copy for those who want one; without them
 * brimful_collector_free is all there is to do. What the library needs beside (a few bytes to see the end, such
 * a copy) comes from the default pool. options.prefer and padding are of no matter. BRIMFUL_SCRUB does not clear target.
 *
 * - BRIMFUL_OK: *collector is yours, to be freed with brimful_collector_free; target stays yours, must stay where it
 *   is, and nobody else may write to it until then. target may be NULL where capacity is 0: only the empty body fits.
 * - BRIMFUL_ERR_INVALID: collector is NULL, target is NULL with a capacity, capacity is beyond the address space, or
 *   an option is out of range.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *collector is NULL.
 *
 * Threads: any number at once.
 */
brimful_status brimful_collector_new_into(const struct brimful_options *options,
                                          void *target,
                                          size_t capacity,
                                          struct brimful_collector **collector);

/**
 * Asks `read` for bytes until the body is complete, the source has nothing now, or an error ends the body. `context`
 * goes to the callback as it is. At most options.max_window bytes are asked for at once, and never more than one byte
 * beyond what the limit allows.
 *
 * - BRIMFUL_OK: the body is complete; call brimful_collector_finish or _finish_exact. On a body that is complete
 *   already the source is not called.
 * - BRIMFUL_PENDING: the source has nothing now; what came is kept; call again later.
 * - BRIMFUL_MORE: options.max_step bytes came in this call, and no more was asked for; call again when it is its turn.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed; call again later, or take what came.
 * - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CONTRACT, _NO_PROGRESS, _CANCELLED: the body has failed; what came can
 *   be taken with brimful_collector_take_partial.
 * - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
 * - BRIMFUL_ERR_BUSY: called from inside a callback of the same collector.
 * - BRIMFUL_ERR_INVALID: collector or read is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_read(struct brimful_collector *collector, brimful_read_fn read, void *context);

/**
 * Reads with read(2) from a file descriptor, which stays yours, until the body is complete, nothing more is there now,
 * or an error ends the body. As brimful_collector_read, with these answers of the system:
 *
 * - 0 bytes: the end of the body.
 * - EAGAIN: BRIMFUL_PENDING; the descriptor does not block and has nothing now; call again when it is readable. Nothing
 *   is lost, and what came costs nothing again.
 * - EINTR: the read is made again, unless options.cancel was triggered: BRIMFUL_ERR_CANCELLED. So a signal handler, or a
 *   thread that sends a signal after triggering, ends a read that blocks. It is never BRIMFUL_ERR_NO_PROGRESS.
 * - Any other: BRIMFUL_ERR_SOURCE, with brimful_info.source_error as -errno; what came can be taken.
 *
 * A descriptor that blocks is waited for. What a regular file has from where it stands to its end serves as
 * options.size_hint where neither that nor a length is given and nothing has come yet: only advice, since files grow
 * and shrink. At most options.max_window bytes are asked for at once, never a byte beyond an announced length with
 * BRIMFUL_END_LENGTH, and at most one beyond the limit: what follows stays in the descriptor.
 *
 * - BRIMFUL_OK: the body is complete; call brimful_collector_finish or _finish_exact. On a body that is complete
 *   already the descriptor is not read.
 * - BRIMFUL_PENDING: nothing is there now; what came is kept; call again later.
 * - BRIMFUL_MORE: options.max_step bytes came in this call, and no more was asked for; call again when it is its turn.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed; call again later, or take what came.
 * - BRIMFUL_ERR_LIMIT, _SHORT, _LONG, _SOURCE, _CANCELLED: the body has failed; what came can be taken with
 *   brimful_collector_take_partial.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
 * - BRIMFUL_ERR_BUSY: called from inside a callback of the same collector.
 * - BRIMFUL_ERR_INVALID: collector is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_read_fd(struct brimful_collector *collector,
                                         int32_t fd);

/**
 * Gives the next window: *room writable bytes at *window, to be filled from the start and handed back with
 * brimful_collector_commit. `want` is a wish in bytes, 0 for none; *room may be smaller or larger, and is never 0.
 * Calling again before the commit gives the same window. The memory is write-only, as a callback's window is, and
 * must not be used after the commit.
 *
 * - BRIMFUL_OK: a window is out.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed, may be called again.
 * - BRIMFUL_ERR_LIMIT: the announced length is above the limit; the body has failed.
 * - BRIMFUL_ERR_STATE: the body is complete or was taken.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *window is NULL and *room 0.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_reserve(struct brimful_collector *collector, size_t want, void **window, size_t *room);

/**
 * Takes the window back with its first `filled` bytes filled, which must all have been written. 0 means that nothing
 * came, and is not the end: that is brimful_collector_end. Ask brimful_collector_is_complete whether more is wanted.
 *
 * - BRIMFUL_OK: they count.
 * - BRIMFUL_ERR_CONTRACT: more than the window's room; nothing of it counts and the body has failed.
 * - BRIMFUL_ERR_LIMIT, BRIMFUL_ERR_LONG: the body has failed; what it may have can be taken.
 * - BRIMFUL_ERR_STATE: no window is out.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: collector is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_commit(struct brimful_collector *collector, size_t filled);

/**
 * Copies `length` bytes at `data` into the body. data may be NULL where length is 0, which does nothing.
 *
 * With taken NULL all bytes are taken, or the body fails: BRIMFUL_ERR_LONG beyond an announced length,
 * BRIMFUL_ERR_LIMIT beyond the limit (what the body may have can be taken as the partial). With taken not NULL, a body
 * of announced length takes only what it lacks, and *taken says how much; the rest (the head of the next value)
 * stays yours and is no error.
 *
 * - BRIMFUL_OK: the bytes were taken (with BRIMFUL_TRUNCATE, those beyond the limit are accepted and dropped).
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing was taken; the same call may be made again.
 * - BRIMFUL_ERR_STATE: a window is out, or the body is complete without a length, or was taken.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: collector is NULL, data is NULL with a length, or the length is beyond the address space.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *taken is 0.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_write(struct brimful_collector *collector,
                                       const void *data,
                                       size_t length,
                                       size_t *taken);

/**
 * Says that the body ends here, for bodies that are written or committed.
 *
 * - BRIMFUL_OK: the body is complete (it may have been so already).
 * - BRIMFUL_ERR_SHORT: fewer bytes came than were announced; the body has failed, and they can be taken.
 * - BRIMFUL_ERR_LIMIT: the announced length is above the limit.
 * - BRIMFUL_ERR_STATE: a window is out, or the body was taken.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: collector is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_end(struct brimful_collector *collector);

/**
 * Copies bytes of what has arrived so far, from `offset` on, at most `length` of them, to `target`, and returns how
 * many. 0 beyond what has arrived, after the body was taken, from inside a callback, and for NULL. Changes nothing.
 *
 * Threads: one at a time for each collector.
 */
size_t brimful_collector_copy(const struct brimful_collector *collector, uint64_t offset, void *target, size_t length);

/**
 * Shows what has arrived so far where it lies: fills segments[0 .. capacity] with the pieces from number `first` on,
 * in order, and returns how many were filled; fewer than capacity means that these were the last. The pieces must not
 * be written to, and are valid until the next call that feeds, takes, resets or frees the collector begins; nor may they
 * be given to that call.
 * 0 after the body was taken, from inside a callback, and for NULL. Changes nothing.
 *
 * Threads: one at a time for each collector.
 */
size_t brimful_collector_segments(const struct brimful_collector *collector,
                                  size_t first,
                                  struct brimful_slice *segments,
                                  size_t capacity);

/**
 * 1 when the body is complete or was taken, 0 when more is wanted; the error, which is negative, of a body that has
 * failed, so that a loop until it is not 0 ends. BRIMFUL_ERR_BUSY, BRIMFUL_ERR_INVALID for NULL, BRIMFUL_ERR_PANIC.
 * Changes nothing.
 *
 * Threads: one at a time for each collector.
 */
int32_t brimful_collector_is_complete(const struct brimful_collector *collector);

/**
 * Takes the complete body as a pooled buffer. Copies nothing.
 *
 * - BRIMFUL_OK: *buffer is yours, to be given back with brimful_buffer_release; the collector is taken.
 * - BRIMFUL_ERR_STATE: it is not complete, or was taken; nothing changed.
 * - BRIMFUL_ERR_NO_MEMORY: nothing changed.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *buffer is NULL.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_finish(struct brimful_collector *collector, struct brimful_buffer **buffer);

/**
 * Takes the complete body as an exact buffer, memory of exactly its length from options.allocator or malloc. Copies
 * nothing where the length was known and BRIMFUL_PREFER_EXACT given; else the body is copied once at most.
 *
 * - BRIMFUL_OK: *data has *length bytes and is yours, to be freed with free() or your own allocator, for length 0 too;
 *   the collector is taken.
 * - BRIMFUL_ERR_NO_MEMORY: nothing changed; call again, or brimful_collector_finish.
 * - BRIMFUL_ERR_STATE: it is not complete, or was taken; nothing changed.
 * - The body's own error: it had failed before.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *data is NULL and *length 0.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_finish_exact(struct brimful_collector *collector, void **data, size_t *length);

/**
 * Takes what has arrived, complete or not, as a pooled buffer: after any error, and also while the body is open.
 *
 * - BRIMFUL_OK: *buffer is yours, to be given back with brimful_buffer_release; the collector is taken.
 * - BRIMFUL_ERR_STATE: a window is out, or it was taken already; nothing changed.
 * - BRIMFUL_ERR_NO_MEMORY: nothing changed.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same collector, by its callback or allocator.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *buffer is NULL.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_take_partial(struct brimful_collector *collector, struct brimful_buffer **buffer);

/**
 * Begins a new body with the same collector, whatever state it is in; what had come and was not taken is dropped.
 * options NULL is the same options again. Its numbers begin anew; a cancel object that was triggered stays so.
 *
 * - BRIMFUL_OK: it is open.
 * - BRIMFUL_ERR_INVALID: collector is NULL or an option is out of range.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_BUSY: nothing changed.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_reset(struct brimful_collector *collector, const struct brimful_options *options);

/**
 * Fills *info with the body's numbers. Works in every state, from inside a callback too.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: an argument is NULL or info->struct_size cannot be; nothing was written.
 * - BRIMFUL_ERR_BUSY: from inside an allocator's function during a call on the same collector.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each collector.
 */
brimful_status brimful_collector_info(const struct brimful_collector *collector, struct brimful_info *info);

/**
 * Frees a collector in any state, with what was not taken. Buffers that were taken stay valid. From inside its own
 * callback: the call around the callback goes on, returns its own status, and the collector is gone then. NULL does
 * nothing.
 *
 * Threads: one at a time for each collector.
 */
void brimful_collector_free(struct brimful_collector *collector);

/**
 * Its length in bytes. 0 for NULL.
 *
 * Threads: any number at once.
 */
size_t brimful_buffer_length(const struct brimful_buffer *buffer);

/**
 * 1 when the body had more bytes than the limit and was cut there (BRIMFUL_TRUNCATE), else 0. 0 for NULL.
 *
 * Threads: any number at once.
 */
int32_t brimful_buffer_truncated(const struct brimful_buffer *buffer);

/**
 * Fills *info with the numbers of the body that the buffer holds.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: an argument is NULL or info->struct_size cannot be; nothing was written.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: any number at once.
 */
brimful_status brimful_buffer_info(const struct brimful_buffer *buffer, struct brimful_info *info);

/**
 * In how many pieces it lies; 0 for the empty buffer and for NULL.
 *
 * Threads: any number at once.
 */
size_t brimful_buffer_segment_count(const struct brimful_buffer *buffer);

/**
 * Shows it where it lies, without a copy: fills segments[0 .. capacity] with the pieces from number `first` on, in
 * order, and returns how many were filled; 0 beyond the last, and for NULL. The pieces must not be written to and are
 * valid until the last release of the buffer.
 *
 * Threads: any number at once.
 */
size_t brimful_buffer_segments(const struct brimful_buffer *buffer,
                               size_t first,
                               struct brimful_slice *segments,
                               size_t capacity);

/**
 * Shows it as one contiguous piece: *length bytes at *data, not to be written to, valid until the last release. A
 * buffer of one piece is shown where it lies, at no cost; one of several is copied together once, by the first call,
 * and that copy is kept with the buffer. Pieces that were shown before stay valid. options.padding zero bytes follow,
 * but not behind a slice.
 *
 * - BRIMFUL_OK: shown; for the empty buffer *data is not NULL, but nothing may be read there.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: no memory to copy it together; nothing changed.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *data is NULL and *length 0.
 *
 * Threads: any number at once.
 */
brimful_status brimful_buffer_data(const struct brimful_buffer *buffer, const void **data, size_t *length);

/**
 * Copies bytes from `offset` on, at most `length` of them, to `target`, and returns how many: fewer at the end, 0
 * beyond it, and for NULL.
 *
 * Threads: any number at once.
 */
size_t brimful_buffer_copy(const struct brimful_buffer *buffer, size_t offset, void *target, size_t length);

/**
 * Copies it into memory of exactly its length, from `allocator`, or malloc where that is NULL. The buffer stays as it
 * is and is still to be released.
 *
 * - BRIMFUL_OK: *data has *length bytes and is yours, to be freed with free() or your own allocator, for length 0 too.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_INVALID: an argument but allocator is NULL, or the allocator's struct_size cannot be or a function
 *   that must be there is missing.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *data is NULL and *length 0.
 *
 * Threads: any number at once.
 */
brimful_status brimful_buffer_to_exact(const struct brimful_buffer *buffer,
                                       const struct brimful_allocator *allocator,
                                       void **data,
                                       size_t *length);

/**
 * Cuts `length` bytes from `offset` on out as a buffer of their own that shares the memory: no byte is copied. The
 * slice counts as a holder of all of that memory, so the buffer it was cut from may be released first; see
 * brimful_buffer_detach where a small slice would keep a large body. A slice of a slice holds the same memory, no chain.
 *
 * - BRIMFUL_OK: *slice is yours, to be given back with brimful_buffer_release; length 0 gives an empty buffer.
 * - BRIMFUL_ERR_INVALID: an argument is NULL, or offset + length is beyond the buffer.
 * - BRIMFUL_ERR_NO_MEMORY: no memory for the handle.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *slice is NULL. The buffer stays as it is in every case.
 *
 * Threads: any number at once.
 */
brimful_status brimful_buffer_slice(const struct brimful_buffer *buffer,
                                    size_t offset,
                                    size_t length,
                                    struct brimful_buffer **slice);

/**
 * Lets a slice go of what it was cut from: its bytes are copied into memory of their own, and the rest can go back to
 * the pool. A buffer that is no slice, or a slice of all of it, stays as it is, at no cost.
 *
 * No other thread may use the buffer during the call, and what it showed before must not be used any more; its length
 * and its bytes are the same as before. Other holds of the same buffer see the copy too; other slices are not touched.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: no memory for the copy; nothing changed, and what it showed is still
 *   valid.
 * - BRIMFUL_ERR_INVALID: buffer is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one, while no other uses the buffer.
 */
brimful_status brimful_buffer_detach(struct brimful_buffer *buffer);

/**
 * Decodes it into UTF-8 text of its own, straight from where it lies, wherever its pieces are cut. The text is *length
 * bytes, may hold NUL characters, and ends in one more NUL that is not counted. The buffer stays as it is and is still
 * to be released.
 *
 * `encoding` is a name as HTTP and HTML have it ("utf-8", "latin1", "Shift_JIS"): any label of the Encoding Standard
 * of WHATWG, in which "latin1" and "us-ascii" mean windows-1252, and "utf-32", "utf-32le", "utf-32be"; "utf-16" and
 * "utf-32" are little endian. Case, white space and one pair of quotes around it do not matter. A byte order mark of
 * this encoding is dropped; another one is read as text. NULL: the byte order mark decides, looked for in the order
 * UTF-8, UTF-32LE, UTF-16LE, UTF-16BE, and is dropped; without one it is UTF-8. A library built without its feature
 * legacy-encodings knows UTF-8, UTF-16 and UTF-32 only.
 *
 * `flags` is 0 or BRIMFUL_DECODE_REPLACE: each fault becomes U+FFFD, as many as the Encoding Standard says. `allocator`
 * NULL is malloc, realloc and free. *length + 1 bytes are what the text's memory has in the end: taken at once for UTF-8,
 * UTF-16 and UTF-32 without faults and for ASCII in any encoding, else reallocated as the text turns out longer or
 * shorter, or, where the allocator cannot reallocate, copied into another piece.
 *
 * - BRIMFUL_OK: *utf8 is yours, to be freed with free() or your own allocator, for the empty text too.
 * - BRIMFUL_ERR_ENCODING: bytes that are no text in the encoding; *error_offset is where they begin, in bytes from the
 *   buffer's first, a byte order mark counted. error_offset may be NULL, and is 0 after anything else.
 * - BRIMFUL_ERR_NO_MEMORY: no memory for the text.
 * - BRIMFUL_ERR_INVALID: buffer, utf8 or length is NULL, the encoding is unknown (the empty string too), there are other
 *   flags, or the allocator's struct_size cannot be or a function that must be there is missing.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *utf8 is NULL and *length 0. The buffer stays as it is in every case.
 *
 * Threads: any number at once.
 */
brimful_status brimful_buffer_decode(const struct brimful_buffer *buffer,
                                     const char *encoding,
                                     uint32_t flags,
                                     const struct brimful_allocator *allocator,
                                     char **utf8,
                                     size_t *length,
                                     uint64_t *error_offset);

/**
 * Takes one more hold, to be given back with brimful_buffer_release, and returns buffer. NULL gives NULL.
 *
 * Threads: any number at once.
 */
struct brimful_buffer *brimful_buffer_retain(struct brimful_buffer *buffer);

/**
 * Gives one hold back, on any thread. The last one gives the memory back to the pool; nothing that the buffer showed
 * may be used any more. NULL does nothing.
 *
 * Threads: any number at once.
 */
void brimful_buffer_release(struct brimful_buffer *buffer);

/**
 * Makes a queue in which at most `capacity` bytes wait; BRIMFUL_UNLIMITED: as many as there is memory for. pool NULL is
 * the default pool. No memory for bytes is taken yet.
 *
 * - BRIMFUL_OK: *queue is yours, to be freed with brimful_queue_free.
 * - BRIMFUL_ERR_INVALID: queue is NULL or capacity is 0.
 * - BRIMFUL_ERR_NO_MEMORY: no memory; nothing was made.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *queue is NULL.
 *
 * Threads: any number at once.
 */
brimful_status brimful_queue_new(struct brimful_pool *pool, uint64_t capacity, struct brimful_queue **queue);

/**
 * Copies bytes at `data` to the tail, as many as the capacity has room for; *written says how many. data may be NULL where
 * length is 0.
 *
 * - BRIMFUL_OK: all `length` bytes were taken.
 * - BRIMFUL_PENDING: the queue is full now; the first *written bytes were taken, the rest stays yours: write it once
 *   the reader has made room.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing was taken; the same call, or one with fewer bytes, may be made
 *   again.
 * - BRIMFUL_ERR_STATE: the queue was ended, or a window is out.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: queue or written is NULL, data is NULL with a length, or the length is beyond the address
 *   space.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * After an error *written is 0.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_write(struct brimful_queue *queue,
                                   const void *data,
                                   size_t length,
                                   size_t *written);

/**
 * Gives a window at the tail: *room writable bytes at *window, to be filled from the start and handed back with
 * brimful_queue_commit. `want` is a wish in bytes, 0 for none; *room may be smaller or larger, is never 0, and at least
 * 4096 unless the capacity has room for less. Calling again before the commit gives the same window. The memory is
 * write-only, as a callback's window is, and must not be used after the commit. The reader may go on meanwhile.
 *
 * - BRIMFUL_OK: a window is out.
 * - BRIMFUL_PENDING: the queue is full now, and no window is out.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing changed, may be called again.
 * - BRIMFUL_ERR_STATE: the queue was ended.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Unless it is BRIMFUL_OK, *window is NULL and *room 0.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_reserve(struct brimful_queue *queue, size_t want, void **window, size_t *room);

/**
 * Takes the window back with its first `filled` bytes filled, which must all have been written. 0 means that nothing
 * came, and is not the end: that is brimful_queue_end.
 *
 * - BRIMFUL_OK: they wait to be read.
 * - BRIMFUL_ERR_CONTRACT: more than the window's room; nothing of it counts, and the queue has ended with this error
 *   for its reader too.
 * - BRIMFUL_ERR_STATE: no window is out.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: queue is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_commit(struct brimful_queue *queue, size_t filled);

/**
 * Says that no more will come. The reader sees it after the last byte, and again at each later call: with `status`
 * BRIMFUL_OK as the end, with a negative one as that very number, which may be one of yours.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_STATE: the queue was ended before, or a window is out; nothing changed.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: queue is NULL or status is above 0.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_end(struct brimful_queue *queue, brimful_status status);

/**
 * Copies bytes from the head to `target`, as many as wait and it has room for; they leave the queue. target may be NULL
 * where capacity is 0.
 *
 * - BRIMFUL_OK: *length bytes were read; with 0 bytes this is the end.
 * - BRIMFUL_PENDING: none waits now.
 * - BRIMFUL_MORE: bytes wait, but capacity is 0.
 * - A negative status that the producer gave to brimful_queue_end, once all was read.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: queue or length is NULL, or target is NULL with a capacity.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Unless bytes were read, *length is 0.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_read(struct brimful_queue *queue, void *target, size_t capacity, size_t *length);

/**
 * Shows what waits where it lies, from the head on: fills slices[0 .. capacity] with the pieces, in order; *count says how
 * many. Fewer than capacity means that these were all. The pieces must not be written to. They stay where they are until
 * brimful_queue_read, _skip, _move or _free is called, whatever the producer does meanwhile. slices may be NULL where
 * capacity is 0. Nothing leaves the queue: see brimful_queue_skip.
 *
 * - BRIMFUL_OK: *count pieces; with 0 pieces this is the end.
 * - BRIMFUL_PENDING: no byte waits now.
 * - BRIMFUL_MORE: bytes wait, but capacity is 0.
 * - A negative status that the producer gave to brimful_queue_end, once all was read.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_INVALID: queue or count is NULL, or slices is NULL with a capacity.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Unless pieces were shown, *count is 0.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_peek(const struct brimful_queue *queue,
                                  struct brimful_slice *slices,
                                  size_t capacity,
                                  size_t *count);

/**
 * Drops `length` bytes from the head, after they were looked at with brimful_queue_peek or because nobody wants them.
 *
 * - BRIMFUL_OK: done.
 * - BRIMFUL_ERR_INVALID: queue is NULL or fewer bytes wait; nothing was dropped.
 * - BRIMFUL_ERR_BUSY: from inside a call on the same queue.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Threads: one at a time for each queue.
 */
brimful_status brimful_queue_skip(struct brimful_queue *queue, size_t length);

/**
 * Gives what waits to a collector, from the head on, as brimful_collector_write with `taken` would: a body of announced
 * length takes what it lacks, and what follows (the head of the next value) stays in the queue; without a length the
 * body takes all. The queue's end is not passed on: call brimful_collector_end when it comes.
 *
 * Where the collector has the same pool, blocks move to it as they lie, and no byte is copied; but a block of which the
 * body gets only the first part, or that is mostly empty, is copied, and so is everything for a body that lies elsewhere:
 * in an exact result of known length, in a target of yours, in another pool. Such copying is the bytes' landing, and not
 * brimful_info.copied. Moved blocks stay charged to the pool's budget.
 *
 * - BRIMFUL_OK: *taken bytes left the queue and are in the body (or dropped, beyond the limit with BRIMFUL_TRUNCATE);
 *   with 0 bytes this is the end of the queue.
 * - BRIMFUL_PENDING: no byte waits now.
 * - BRIMFUL_MORE: bytes wait, but the collector is complete and takes none.
 * - A negative status that the producer gave to brimful_queue_end, once all was read; the collector is as it was then,
 *   and its partial can be taken.
 * - BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing moved; call again. Where memory runs out after some bytes have
 *   moved, that is BRIMFUL_OK with these.
 * - BRIMFUL_ERR_LIMIT: the body has failed; what it may have is in it and has left the queue (brimful_queue_length
 *   tells), what is beyond the limit stays.
 * - The error of a body that has failed, and BRIMFUL_ERR_STATE: the collector's window is out, its body is complete
 *   without a length, or was taken; the queue is as it was. brimful_collector_is_complete tells such an error from the
 *   producer's.
 * - BRIMFUL_ERR_BUSY: a call is inside the queue or the collector.
 * - BRIMFUL_ERR_INVALID: an argument is NULL.
 * - BRIMFUL_ERR_PANIC: the library failed inside.
 *
 * Unless bytes moved, *taken is 0.
 *
 * Threads: one at a time for each queue and each collector.
 */
brimful_status brimful_queue_move(struct brimful_queue *queue,
                                  struct brimful_collector *collector,
                                  size_t *taken);

/**
 * How many bytes wait, at no cost. 0 for NULL and while a call is inside.
 *
 * Threads: one at a time for each queue.
 */
uint64_t brimful_queue_length(const struct brimful_queue *queue);

/**
 * Frees a queue in any state, with what waits in it; a window that is out must not be used any more, nor what was shown.
 * What moved to a collector stays there. From an allocator's function during a call on the queue: it is gone when that
 * call returns. NULL does nothing.
 *
 * Threads: one at a time for each queue.
 */
void brimful_queue_free(struct brimful_queue *queue);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BRIMFUL_H */
