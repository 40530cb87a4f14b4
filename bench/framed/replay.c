/* See replay.h. */
#include "replay.h"

#include <string.h>

static uint64_t number(const unsigned char *bytes, size_t length)
{
  uint64_t value = 0;
  while (length-- > 0)
    value = value << 8 | bytes[length];
  return value;
}

static int take(struct replay *replay, unsigned char *target, size_t length)
{
  while (length > 0) {
    if (replay->payload == 0) {
      if (replay->at == replay->came)
        return 0;
      replay->payload = (size_t)number(replay->packets + replay->at + 2, 2) - 8;
      replay->at += 8;
    }
    size_t count = length < replay->payload ? length : replay->payload;
    memcpy(target, replay->packets + replay->at, count);
    replay->at += count;
    replay->payload -= count;
    target += count;
    length -= count;
  }
  return 1;
}

int replay_total(struct replay *replay, uint64_t *total)
{
  unsigned char bytes[8];
  if (!take(replay, bytes, 8))
    return 0;
  *total = number(bytes, 8);
  return 1;
}

int replay_bytes(struct replay *replay, unsigned char *target, size_t length, size_t *got)
{
  *got = 0;
  while (*got < length && !replay->ended) {
    if (replay->chunk == 0) {
      unsigned char bytes[4];
      if (!take(replay, bytes, 4))
        return 0;
      replay->chunk = (uint32_t)number(bytes, 4);
      replay->ended = replay->chunk == 0;
    }
    size_t count = length - *got < replay->chunk ? length - *got : replay->chunk;
    if (!take(replay, target + *got, count))
      return 0;
    *got += count;
    replay->chunk -= (uint32_t)count;
  }
  return 1;
}
