/* Lays values into packets as examples/c/framed.h says, and knows which bytes are whose. */
#ifndef FRAMING_H
#define FRAMING_H

#include <stddef.h>
#include <stdint.h>

/* Bytes, and for each of them which value it is a byte of: 0, 1 and so on, or FRAMING_NONE for lengths and headers. */
struct framing {
  unsigned char *bytes;
  int16_t *owners;
  size_t length, room;
};

#define FRAMING_NONE (-1)

void framing_put(struct framing *framing, const void *data, size_t length, int owner);
void framing_number(struct framing *framing, uint64_t value, size_t length);

/* A value of `length` content bytes in chunks of `each`, its total told (`total` is length) or another. */
void framing_value(struct framing *framing, int value, size_t length, size_t each, uint64_t total);

/* All of `values` as packets of `size` bytes, the last one shorter. */
struct framing framing_packets(const struct framing *values, size_t size);

void framing_free(struct framing *framing);

/* Byte `i` of value number `value`. It does not come again at any interval that a packet or block could have. */
static inline unsigned char content(int value, uint64_t i)
{
  uint64_t mixed = (i + 1) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)(value + 1) * UINT64_C(0xD1B54A32D192ED03);
  return (unsigned char)((mixed ^ mixed >> 29) >> 32);
}

/* Whether these are `length` bytes of the value from `offset` on. */
int is_content(const void *data, int value, uint64_t offset, size_t length);

#endif
