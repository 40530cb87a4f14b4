/* See framing.h. Copies by loops, which the interposer does not count. */
#include "framing.h"

#include "framed.h"

#include <stdlib.h>

static void make_room(struct framing *framing, size_t length)
{
  if (framing->room - framing->length >= length)
    return;
  framing->room = framing->room * 2 > framing->length + length ? framing->room * 2 : framing->length + length + 64;
  framing->bytes = realloc(framing->bytes, framing->room);
  framing->owners = realloc(framing->owners, framing->room * sizeof *framing->owners);
  if (framing->bytes == NULL || framing->owners == NULL)
    abort();
}

void framing_put(struct framing *framing, const void *data, size_t length, int owner)
{
  make_room(framing, length);
  for (size_t i = 0; i < length; i++) {
    framing->bytes[framing->length] = ((const unsigned char *)data)[i];
    framing->owners[framing->length++] = (int16_t)owner;
  }
}

void framing_number(struct framing *framing, uint64_t value, size_t length)
{
  unsigned char bytes[8];
  for (size_t i = 0; i < length; i++)
    bytes[i] = (unsigned char)(value >> 8 * i);
  framing_put(framing, bytes, length, FRAMING_NONE);
}

void framing_value(struct framing *framing, int value, size_t length, size_t each, uint64_t total)
{
  framing_number(framing, total, 8);
  if (total == FRAMED_MISSING)
    return;
  for (size_t at = 0; at < length;) {
    size_t chunk = length - at < each ? length - at : each;
    framing_number(framing, chunk, 4);
    make_room(framing, chunk);
    for (size_t end = at + chunk; at < end; at++) {
      framing->bytes[framing->length] = content(value, at);
      framing->owners[framing->length++] = (int16_t)value;
    }
  }
  framing_number(framing, 0, 4);
}

struct framing framing_packets(const struct framing *values, size_t size)
{
  struct framing packets = { NULL, NULL, 0, 0 };
  uint32_t number = 0;
  for (size_t at = 0; at < values->length; number++) {
    size_t payload = values->length - at < size - FRAMED_HEADER ? values->length - at : size - FRAMED_HEADER;
    framing_number(&packets, FRAMED_KIND, 2);
    framing_number(&packets, payload + FRAMED_HEADER, 2);
    framing_number(&packets, number, 4);
    for (size_t end = at + payload; at < end; at++)
      framing_put(&packets, values->bytes + at, 1, values->owners[at]);
  }
  return packets;
}

void framing_free(struct framing *framing)
{
  free(framing->bytes);
  free(framing->owners);
}

int is_content(const void *data, int value, uint64_t offset, size_t length)
{
  const unsigned char *bytes = data;
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] != content(value, offset + i))
      return 0;
  }
  return 1;
}
