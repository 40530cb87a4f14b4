/*
 * What the counting library (counts.c, preloaded) saw of one body. Allocated: bytes asked for; a realloc that stayed
 * where it was, or whose pages the kernel moved, counts what it grew by, any other its whole new size; address space
 * counts as it becomes writable. Peak: the most held at once of all that. Copied: bytes in calls of memcpy, memmove and
 * mempcpy of COPY_COUNTED bytes and more, and what a realloc moved.
 */
#ifndef BENCH_COUNTS_H
#define BENCH_COUNTS_H

#include <stdint.h>

#define COPY_COUNTED 64

struct counts {
  uint64_t allocations;
  uint64_t allocated;
  uint64_t peak;
  uint64_t copied;
};

#endif
