/* See counts.h. For glibc: its allocator is called by the names that it also exports for this. */
#define _GNU_SOURCE
#include "counts.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPINGS 4096

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *memory);

static int counting;
static struct counts seen;
static int64_t held;
static int busy; /* a lock that is only ever held for a few instructions */

/* Anonymous mappings that the program made itself, and how much of each is writable, from its start. */
static struct mapping {
  char *start;
  size_t size, writable;
} mappings[MAPPINGS];

static void lock(void)
{
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
    ;
}

static void unlock(void)
{
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static void hold(int64_t size)
{
  held += size;
  if (held > 0 && (uint64_t)held > seen.peak)
    seen.peak = (uint64_t)held;
}

static void allocated(int64_t bytes)
{
  if (!counting || bytes <= 0)
    return;
  seen.allocations++;
  seen.allocated += (uint64_t)bytes;
}

void counts_begin(void)
{
  memset(&seen, 0, sizeof seen);
  held = 0;
  counting = 1;
}

void counts_end(struct counts *out)
{
  counting = 0;
  *out = seen;
}

static void *made(void *memory, size_t size)
{
  if (memory != NULL && counting) {
    lock();
    allocated((int64_t)size);
    hold((int64_t)malloc_usable_size(memory));
    unlock();
  }
  return memory;
}

void *malloc(size_t size)
{
  return made(__libc_malloc(size), size);
}

void *calloc(size_t count, size_t size)
{
  return made(__libc_calloc(count, size), count * size);
}

void *memalign(size_t align, size_t size)
{
  return made(__libc_memalign(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
  return memalign(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
  void *given = memalign(align, size);
  if (given == NULL)
    return ENOMEM;
  *memory = given;
  return 0;
}

void free(void *memory)
{
  if (memory != NULL && counting) {
    lock();
    hold(-(int64_t)malloc_usable_size(memory));
    unlock();
  }
  __libc_free(memory);
}

/* glibc's own mark of a piece that is a mapping of its own: its realloc has the kernel move the pages. */
static int is_mapping(const void *memory)
{
  return (((const size_t *)memory)[-1] & 2) != 0;
}

void *realloc(void *memory, size_t size)
{
  if (memory == NULL)
    return malloc(size);
  if (!counting)
    return __libc_realloc(memory, size);
  size_t before = malloc_usable_size(memory);
  int was_mapping = is_mapping(memory);
  char *given = __libc_realloc(memory, size);
  if (given == NULL)
    return given;
  size_t after = malloc_usable_size(given);
  lock();
  if ((void *)given == memory || (was_mapping && is_mapping(given))) {
    allocated((int64_t)after - (int64_t)before);
    hold((int64_t)after - (int64_t)before);
  } else {
    allocated((int64_t)size);
    seen.copied += before < size ? before : size;
    hold((int64_t)after); /* both are there while the bytes are moved */
    hold(-(int64_t)before);
  }
  unlock();
  return given;
}

static struct mapping *mapping_of(const char *address)
{
  for (size_t i = 0; i < MAPPINGS; i++)
    if (mappings[i].start != NULL && address >= mappings[i].start && address < mappings[i].start + mappings[i].size)
      return &mappings[i];
  return NULL;
}

static void writable(struct mapping *mapping, size_t size)
{
  int64_t more = (int64_t)size - (int64_t)mapping->writable;
  mapping->writable = size;
  if (counting) {
    allocated(more);
    hold(more);
  }
}

typedef void *(*mmap_fn)(void *, size_t, int, int, int, off_t);
typedef int (*munmap_fn)(void *, size_t);
typedef int (*mprotect_fn)(void *, size_t, int);
typedef int (*madvise_fn)(void *, size_t, int);
typedef void *(*memcpy_fn)(void *, const void *, size_t);
static mmap_fn next_mmap;
static munmap_fn next_munmap;
static mprotect_fn next_mprotect;
static madvise_fn next_madvise;
static memcpy_fn next_memcpy, next_memmove;

/* Stores the next definition as POSIX shows it, since ISO C has no cast from a pointer to a function. */
#define LOOK_UP(name) (*(void **)&next_##name = dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void look_up(void)
{
  LOOK_UP(mmap);
  LOOK_UP(munmap);
  LOOK_UP(mprotect);
  LOOK_UP(madvise);
  LOOK_UP(memmove);
  LOOK_UP(memcpy);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
  if (next_mmap == NULL)
    LOOK_UP(mmap);
  char *given = next_mmap(address, size, protection, flags, file, offset);
  if (given == MAP_FAILED || (flags & MAP_ANONYMOUS) == 0)
    return given;
  lock();
  for (size_t i = 0; i < MAPPINGS; i++) {
    if (mappings[i].start == NULL) {
      mappings[i] = (struct mapping){ given, size, 0 };
      if ((protection & PROT_WRITE) != 0)
        writable(&mappings[i], size);
      break;
    }
  }
  unlock();
  return given;
}

void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
  return mmap(address, size, protection, flags, file, offset);
}

int munmap(void *address, size_t size)
{
  lock();
  struct mapping *mapping = mapping_of(address);
  if (mapping != NULL) {
    if ((char *)address == mapping->start && size >= mapping->size) {
      writable(mapping, 0);
      mapping->start = NULL;
    } else if ((char *)address == mapping->start) { /* cut at the front, to align it */
      mapping->start += size;
      mapping->size -= size;
      writable(mapping, mapping->writable > size ? mapping->writable - size : 0);
    } else {
      mapping->size = (size_t)((char *)address - mapping->start);
      if (mapping->writable > mapping->size)
        writable(mapping, mapping->size);
    }
  }
  unlock();
  return next_munmap(address, size);
}

int mprotect(void *address, size_t size, int protection)
{
  lock();
  struct mapping *mapping = mapping_of(address);
  if (mapping != NULL) {
    size_t start = (size_t)((char *)address - mapping->start);
    if ((protection & PROT_WRITE) != 0 && start + size > mapping->writable)
      writable(mapping, start + size);
    else if (protection == PROT_NONE && start < mapping->writable)
      writable(mapping, start);
  }
  unlock();
  if (next_mprotect == NULL)
    LOOK_UP(mprotect);
  return next_mprotect(address, size, protection);
}

/* Pages that are given back are not held any more, though they stay writable: counted once, as held. */
int madvise(void *address, size_t size, int advice)
{
  if (advice == MADV_DONTNEED && counting) {
    lock();
    if (mapping_of(address) != NULL)
      hold(-(int64_t)size);
    unlock();
  }
  return next_madvise(address, size, advice);
}

/* While the next memcpy is looked up. Volatile, so that no compiler makes it a memcpy. */
static void *copy_bytes(void *target, const void *from, size_t size)
{
  volatile unsigned char *to = target;
  const unsigned char *bytes = from;
  if ((uintptr_t)target > (uintptr_t)from)
    while (size-- > 0)
      to[size] = bytes[size];
  else
    for (size_t i = 0; i < size; i++)
      to[i] = bytes[i];
  return target;
}

static void copied(size_t size)
{
  if (counting && size >= COPY_COUNTED)
    __atomic_fetch_add(&seen.copied, size, __ATOMIC_RELAXED);
}

void *memcpy(void *restrict target, const void *restrict from, size_t size)
{
  copied(size);
  return next_memcpy != NULL ? next_memcpy(target, from, size) : copy_bytes(target, from, size);
}

void *memmove(void *target, const void *from, size_t size)
{
  copied(size);
  return next_memmove != NULL ? next_memmove(target, from, size) : copy_bytes(target, from, size);
}

void *mempcpy(void *restrict target, const void *restrict from, size_t size)
{
  return (char *)memcpy(target, from, size) + size;
}
