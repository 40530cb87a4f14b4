#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 251, TABLE = 64 << 10 };

uint8_t next_byte(struct script *script)
{
  if (script->length == 0)
    return 0;
  script->length--;
  return *script->bytes++;
}

size_t next_length(struct script *script)
{
  static const size_t sizes[] = { 0, 1, 4096, 16384, 65536, 100000, 300000, 1u << 20 };
  uint8_t byte = next_byte(script);
  if (byte < 0xC0)
    return byte;
  return sizes[byte & 7] + (size_t)(byte >> 3 & 7) - (sizes[byte & 7] > 4 ? 4 : 0);
}

/* The numbers from 0 to 250 again and again; where body `seed` is at `at` in them is (at + seed) mod 251. */
static const uint8_t *painted(unsigned seed, uint64_t at)
{
  static uint8_t table[PERIOD + TABLE];
  if (table[1] == 0)
    for (size_t i = 0; i < sizeof table; i++)
      table[i] = (uint8_t)(i % PERIOD);
  return table + (at + seed) % PERIOD;
}

void paint(unsigned seed, uint64_t at, uint8_t *bytes, size_t length)
{
  for (size_t done = 0; done < length; done += TABLE)
    memcpy(bytes + done, painted(seed, at + done), length - done < TABLE ? length - done : TABLE);
}

void must_be_painted(unsigned seed, uint64_t at, const void *bytes, size_t length)
{
  const uint8_t *came = bytes;
  for (size_t done = 0; done < length; done += TABLE) {
    size_t count = length - done < TABLE ? length - done : TABLE;
    const uint8_t *expected = painted(seed, at + done);
    if (memcmp(came + done, expected, count) == 0)
      continue;
    size_t wrong = 0;
    while (came[done + wrong] == expected[wrong])
      wrong++;
    fprintf(stderr, "body %u: byte %llu is %u and should be %u\n", seed, (unsigned long long)(at + done + wrong),
            came[done + wrong], expected[wrong]);
    abort();
  }
}

void must_fail(const char *condition, const char *file, int line)
{
  fprintf(stderr, "%s:%d: %s\n", file, line, condition);
  abort();
}
