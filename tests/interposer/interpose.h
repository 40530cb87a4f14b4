/*
 * What the interposer counts, in all threads, from outside of the library: its own numbers are compared with these.
 *
 * Loaded with LD_PRELOAD. A program finds out whether it is there by these symbols being weak (C) or by dlsym
 * (ctypes.CDLL(None) in Python). Counts only grow; a scenario is bracketed by reading them before and after.
 */
#ifndef INTERPOSE_H
#define INTERPOSE_H

#include <stdint.h>

struct interpose_counts {
  uint64_t allocations;     /* malloc, calloc, realloc, posix_memalign, aligned_alloc, memalign, mmap, mremap of 4096 bytes or more */
  uint64_t allocated_bytes; /* their sizes, as asked for */
  uint64_t copies;          /* memcpy and memmove of 4096 bytes or more */
  uint64_t copied_bytes;    /* their sizes */
};

/* What was counted since the process began. */
__attribute__((weak)) void interpose_read(struct interpose_counts *counts);

/*
 * The nth (1 is the next) request for memory from the library's reach, of any size, gives nothing; with `forever` all
 * after it too. Only requests of the calling thread; 0 switches that off. Returns how many requests were made since the
 * last call.
 */
__attribute__((weak)) uint64_t interpose_fail(uint64_t nth, int forever);

/* Pieces of malloc and its kin that the calling thread has been given, less those that it has given back. */
__attribute__((weak)) int64_t interpose_live(void);

#endif
