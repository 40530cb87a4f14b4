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
