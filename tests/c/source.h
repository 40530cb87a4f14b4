/* Sources whose byte i is i mod 251, which can stop, fail and lie on request, and what checks their bytes. */
#ifndef SOURCE_H
#define SOURCE_H

#include <brimful.h>

struct source {
  uint64_t length;     /* bytes it has */
  size_t each;         /* the most bytes of one answer; 0: as many as fit */
  size_t pend_every;   /* "nothing more now" comes with every so many-th byte; 0: never */
  brimful_status then; /* answered after the last byte instead of the end */
  uint64_t given;      /* from here on: what happened */
  uint64_t calls;
  size_t largest_room;
  size_t pend_in;
};

#define SOURCE(bytes) { (bytes), 0, 0, BRIMFUL_OK, 0, 0, 0, 0 }

brimful_status source_read(void *context, void *window, size_t room, size_t *filled);

/* Writes bytes `offset` on of a body. Never by memcpy, so that the interposer does not count the source's own work. */
void paint(void *target, uint64_t offset, size_t length);

/* Whether these are bytes `offset` on of a body. */
int is_painted(const void *data, uint64_t offset, size_t length);

/* Whether the buffer is a whole painted body of this length, looked at in three ways: segments, contiguous, copied. */
int buffer_is_painted(const brimful_buffer *buffer, uint64_t length);

/* A pool of its own, in the default memory or as a list, with every other default. NULL when it cannot be had. */
brimful_pool *new_pool(uint32_t flags);

brimful_info info_of(const brimful_collector *collector);

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(array)[0])

#endif
