/* See source.h. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#define PERIODS ((size_t)251 * 1024)

/* Paint from any phase on for PERIODS bytes. */
static const unsigned char *paint_from(uint64_t offset)
{
  static unsigned char table[PERIODS + 256];
  static int made;
  if (!made) {
    for (size_t i = 0; i < sizeof table; i++)
      table[i] = (unsigned char)(i % 251);
    made = 1;
  }
  return table + offset % 251;
}

void paint(void *target, uint64_t offset, size_t length)
{
  unsigned char *to = target;
  while (length > 0) {
    const unsigned char *from = paint_from(offset);
    size_t part = length < PERIODS ? length : PERIODS;
    size_t i = 0;
    for (; i + 64 <= part; i += 64)
      __builtin_memcpy(to + i, from + i, 64); /* 64 bytes are moves, not a call */
    for (; i < part; i++)
      to[i] = from[i];
    to += part;
    offset += part;
    length -= part;
  }
}

int is_painted(const void *data, uint64_t offset, size_t length)
{
  const unsigned char *bytes = data;
  while (length > 0) {
    size_t part = length < PERIODS ? length : PERIODS;
    if (memcmp(bytes, paint_from(offset), part) != 0)
      return 0;
    bytes += part;
    offset += part;
    length -= part;
  }
  return 1;
}

brimful_status source_read(void *context, void *window, size_t room, size_t *filled)
{
  struct source *source = context;
  uint64_t left = source->length - source->given;
  size_t count = room;
  source->calls++;
  if (room > source->largest_room)
    source->largest_room = room;
  if (left == 0)
    return source->then;
  if (source->each > 0 && count > source->each)
    count = source->each;
  if (count > left)
    count = (size_t)left;
  if (source->pend_every > 0) {
    if (source->pend_in == 0)
      source->pend_in = source->pend_every;
    if (count > source->pend_in)
      count = source->pend_in;
    source->pend_in -= count;
  }
  paint(window, source->given, count);
  source->given += count;
  *filled = count;
  return source->pend_every > 0 && source->pend_in == 0 ? BRIMFUL_PENDING : BRIMFUL_OK;
}

int buffer_is_painted(const brimful_buffer *buffer, uint64_t length)
{
  size_t pieces = brimful_buffer_segment_count(buffer), seen = 0;
  uint64_t offset = 0;
  brimful_slice slice;
  const void *data;
  size_t whole;
  unsigned char part[1000];

  if (buffer == NULL || brimful_buffer_length(buffer) != length)
    return 0;
  for (; brimful_buffer_segments(buffer, seen, &slice, 1) == 1; seen++) {
    if (!is_painted(slice.data, offset, slice.length))
      return 0;
    offset += slice.length;
  }
  if (seen != pieces || offset != length)
    return 0;
  if (brimful_buffer_copy(buffer, (size_t)length / 3, part, sizeof part) > length - length / 3)
    return 0;
  if (length > 3 * sizeof part &&
      (brimful_buffer_copy(buffer, (size_t)length / 3, part, sizeof part) != sizeof part ||
       !is_painted(part, length / 3, sizeof part)))
    return 0;
  if (brimful_buffer_data(buffer, &data, &whole) != BRIMFUL_OK || whole != length)
    return 0;
  return is_painted(data, 0, whole);
}

brimful_pool *new_pool(uint32_t flags)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool = NULL;
  options.flags = flags;
  brimful_pool_new(&options, &pool);
  return pool;
}

brimful_info info_of(const brimful_collector *collector)
{
  brimful_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  if (brimful_collector_info(collector, &info) != BRIMFUL_OK)
    abort();
  return info;
}
