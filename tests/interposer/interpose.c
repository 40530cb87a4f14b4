/* See interpose.h. For glibc: its allocator is called by the names that it also exports for this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "interpose.h"

#define DATA_SIZED 4096
#define SHOWN __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

static struct interpose_counts counts;

static __thread uint64_t requests;
static __thread int64_t live;
static __thread uint64_t fails_at;
static __thread int fails_on;

SHOWN void interpose_read(struct interpose_counts *out)
{
  out->allocations = __atomic_load_n(&counts.allocations, __ATOMIC_SEQ_CST);
  out->allocated_bytes = __atomic_load_n(&counts.allocated_bytes, __ATOMIC_SEQ_CST);
  out->copies = __atomic_load_n(&counts.copies, __ATOMIC_SEQ_CST);
  out->copied_bytes = __atomic_load_n(&counts.copied_bytes, __ATOMIC_SEQ_CST);
}

SHOWN uint64_t interpose_fail(uint64_t nth, int forever)
{
  uint64_t made = requests;
  requests = 0;
  fails_at = nth;
  fails_on = forever;
  return made;
}

/* Whether this request is one that is to give nothing. */
static int fails(void)
{
  requests++;
  if (fails_at == 0 || requests < fails_at || (requests > fails_at && !fails_on))
    return 0;
  errno = ENOMEM;
  return 1;
}

static void count_allocation(size_t size)
{
  if (size < DATA_SIZED)
    return;
  __atomic_fetch_add(&counts.allocations, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counts.allocated_bytes, size, __ATOMIC_RELAXED);
}

static void count_copy(size_t size)
{
  if (size < DATA_SIZED)
    return;
  __atomic_fetch_add(&counts.copies, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counts.copied_bytes, size, __ATOMIC_RELAXED);
}

/* Counts a piece that malloc and its kin gave. */
static void *counted(void *made)
{
  live += made != NULL;
  return made;
}

SHOWN int64_t interpose_live(void)
{
  return live;
}

SHOWN void *malloc(size_t size)
{
  if (fails())
    return NULL;
  count_allocation(size);
  return counted(__libc_malloc(size));
}

SHOWN void free(void *memory)
{
  live -= memory != NULL;
  __libc_free(memory);
}

SHOWN void *calloc(size_t count, size_t size)
{
  size_t all;
  if (fails())
    return NULL;
  if (!__builtin_mul_overflow(count, size, &all))
    count_allocation(all);
  return counted(__libc_calloc(count, size));
}

SHOWN void *realloc(void *memory, size_t size)
{
  if (fails())
    return NULL;
  count_allocation(size);
  return memory == NULL ? counted(__libc_malloc(size)) : __libc_realloc(memory, size);
}

SHOWN void *memalign(size_t align, size_t size)
{
  if (fails())
    return NULL;
  count_allocation(size);
  return counted(__libc_memalign(align, size));
}

SHOWN void *aligned_alloc(size_t align, size_t size)
{
  return memalign(align, size);
}

SHOWN int posix_memalign(void **memory, size_t align, size_t size)
{
  void *made = memalign(align, size);
  if (made == NULL)
    return ENOMEM;
  *memory = made;
  return 0;
}

/* Stores the next definition as POSIX shows it, since ISO C has no cast from a pointer to a function. */
#define LOOK_UP(name) (*(void **)&next_##name = dlsym(RTLD_NEXT, #name))

typedef void *(*mmap_fn)(void *, size_t, int, int, int, off_t);
typedef void *(*mremap_fn)(void *, size_t, size_t, int, ...);
typedef int (*mprotect_fn)(void *, size_t, int);
typedef void *(*memcpy_fn)(void *, const void *, size_t);
typedef void *(*memmove_fn)(void *, const void *, size_t);
static mmap_fn next_mmap;
static mremap_fn next_mremap;
static mprotect_fn next_mprotect;
static memcpy_fn next_memcpy;
static memmove_fn next_memmove;

SHOWN void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
  if (fails())
    return MAP_FAILED;
  if ((flags & MAP_ANONYMOUS) != 0)
    count_allocation(size);
  if (next_mmap == NULL)
    LOOK_UP(mmap);
  return next_mmap(address, size, protection, flags, file, offset);
}

SHOWN void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
  return mmap(address, size, protection, flags, file, offset);
}

SHOWN void *mremap(void *address, size_t old_size, size_t size, int flags, ...)
{
  void *target = NULL;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list more;
    va_start(more, flags);
    target = va_arg(more, void *);
    va_end(more);
  }
  if (fails())
    return MAP_FAILED;
  count_allocation(size);
  if (next_mremap == NULL)
    LOOK_UP(mremap);
  return next_mremap(address, old_size, size, flags, target);
}

/* Not an allocation, but a request that can be refused. */
SHOWN int mprotect(void *address, size_t size, int protection)
{
  if (fails())
    return -1;
  if (next_mprotect == NULL)
    LOOK_UP(mprotect);
  return next_mprotect(address, size, protection);
}

/* Before the next memcpy is known, and while it is looked up. Volatile, so that no compiler makes it a memcpy. */
static void copy_bytes(void *target, const void *from, size_t size, int backwards)
{
  volatile unsigned char *to = target;
  const unsigned char *bytes = from;
  for (size_t i = 0; i < size; i++) {
    size_t at = backwards ? size - 1 - i : i;
    to[at] = bytes[at];
  }
}

__attribute__((constructor)) static void look_up(void)
{
  LOOK_UP(memcpy);
  LOOK_UP(memmove);
}

SHOWN void *memcpy(void *restrict target, const void *restrict from, size_t size)
{
  count_copy(size);
  if (next_memcpy != NULL)
    return next_memcpy(target, from, size);
  copy_bytes(target, from, size, 0);
  return target;
}

SHOWN void *memmove(void *target, const void *from, size_t size)
{
  count_copy(size);
  if (next_memmove != NULL)
    return next_memmove(target, from, size);
  copy_bytes(target, from, size, (uintptr_t)target > (uintptr_t)from);
  return target;
}
