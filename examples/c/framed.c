/* See framed.h. Numbers first, then the value, then the packet, then what is called from outside. */
#include "framed.h"

#include <string.h>

/* Takes what `field` lacks of `want` bytes, and returns how many that were. */
static size_t gather(struct framed_field *field, size_t want, const unsigned char *data, size_t length)
{
  size_t lacks = want - field->have, count = length < lacks ? length : lacks;
  memcpy(field->bytes + field->have, data, count);
  field->have += count;
  return count;
}

static uint64_t number(const unsigned char *bytes, size_t length)
{
  uint64_t value = 0;
  while (length-- > 0)
    value = value << 8 | bytes[length];
  return value;
}

static brimful_status begin(struct framed *decoder, uint64_t length)
{
  decoder->options.length = length;
  return brimful_collector_reset(decoder->collector, &decoder->options);
}

static void end(struct framed *decoder)
{
  decoder->part = FRAMED_TOTAL;
  decoder->values++;
  decoder->ended = 1;
}

static brimful_status take_total(struct framed *decoder)
{
  uint64_t total = number(decoder->field.bytes, 8);
  brimful_status status = BRIMFUL_OK;
  if (total != FRAMED_MISSING && decoder->outcome == BRIMFUL_OK)
    status = begin(decoder, total == FRAMED_UNKNOWN ? BRIMFUL_UNKNOWN : total);
  if (status != BRIMFUL_OK)
    return status; /* the field is whole, so the next call comes here again */
  decoder->field.have = 0;
  decoder->part = FRAMED_CHUNK;
  decoder->missing = total == FRAMED_MISSING;
  if (decoder->missing)
    end(decoder);
  return BRIMFUL_OK;
}

static void take_chunk(struct framed *decoder)
{
  decoder->field.have = 0;
  decoder->chunk = (uint32_t)number(decoder->field.bytes, 4);
  decoder->part = FRAMED_BYTES;
  if (decoder->chunk > 0)
    return;
  if (decoder->outcome == BRIMFUL_OK)
    decoder->outcome = brimful_collector_end(decoder->collector);
  end(decoder);
}

/* Takes bytes of a chunk. One that cannot be had now is not taken; one that is too much fails the value alone. */
static size_t take_bytes(struct framed *decoder, const unsigned char *data, size_t length, brimful_status *status)
{
  size_t count = length < decoder->chunk ? length : decoder->chunk;
  if (decoder->outcome == BRIMFUL_OK) {
    brimful_status wrote = brimful_collector_write(decoder->collector, data, count, NULL);
    if (wrote == BRIMFUL_ERR_NO_MEMORY || wrote == BRIMFUL_ERR_BUDGET) {
      *status = wrote;
      return 0;
    }
    decoder->outcome = wrote;
  }
  decoder->chunk -= (uint32_t)count;
  if (decoder->chunk == 0)
    decoder->part = FRAMED_CHUNK;
  return count;
}

/* Takes payload for the part of the value that is due, and returns how much. */
static size_t take_payload(struct framed *decoder, const unsigned char *data, size_t length, brimful_status *status)
{
  size_t took;
  if (decoder->part == FRAMED_BYTES)
    return take_bytes(decoder, data, length, status);
  size_t want = decoder->part == FRAMED_TOTAL ? 8 : 4;
  took = gather(&decoder->field, want, data, length);
  if (decoder->field.have < want)
    return took;
  if (decoder->part == FRAMED_TOTAL)
    *status = take_total(decoder);
  else
    take_chunk(decoder);
  return took;
}

static size_t take_header(struct framed *decoder, const unsigned char *data, size_t length, brimful_status *status)
{
  const unsigned char *bytes = decoder->header.bytes;
  size_t took = gather(&decoder->header, FRAMED_HEADER, data, length);
  if (decoder->header.have < FRAMED_HEADER)
    return took;
  size_t size = (size_t)number(bytes + 2, 2);
  if (bytes[0] != FRAMED_KIND || size < FRAMED_HEADER || number(bytes + 4, 4) != decoder->packets) {
    *status = FRAMED_BROKEN; /* the header stays, so every later call says so too */
    return took;
  }
  decoder->header.have = 0;
  decoder->packets++;
  decoder->payload = size - FRAMED_HEADER;
  return took;
}

brimful_status framed_open(struct framed *decoder, brimful_pool *pool, const brimful_options *options)
{
  memset(decoder, 0, sizeof *decoder);
  brimful_options_init(&decoder->options, sizeof decoder->options);
  if (options != NULL)
    decoder->options = *options;
  return brimful_collector_new(pool, &decoder->options, &decoder->collector);
}

void framed_close(struct framed *decoder)
{
  brimful_collector_free(decoder->collector);
  decoder->collector = NULL;
}

brimful_status framed_feed(struct framed *decoder, const void *data, size_t length, size_t *used)
{
  const unsigned char *bytes = data;
  brimful_status status = BRIMFUL_OK;
  *used = 0;
  if (decoder->ended) { /* nothing of the last value is to be seen in the next, not even while its total comes */
    status = begin(decoder, BRIMFUL_UNKNOWN);
    if (status != BRIMFUL_OK)
      return status;
    decoder->outcome = decoder->cancels_next ? BRIMFUL_ERR_CANCELLED : BRIMFUL_OK;
    decoder->ended = decoder->cancels_next = decoder->missing = 0;
  }
  while (*used < length && !decoder->ended && status == BRIMFUL_OK) {
    size_t left = length - *used;
    if (decoder->payload == 0) {
      *used += take_header(decoder, bytes + *used, left, &status);
    } else {
      size_t took = take_payload(decoder, bytes + *used, left < decoder->payload ? left : decoder->payload, &status);
      decoder->payload -= took;
      *used += took;
    }
  }
  return status != BRIMFUL_OK ? status : decoder->ended ? BRIMFUL_OK : BRIMFUL_PENDING;
}

void framed_cancel(struct framed *decoder)
{
  if (decoder->ended) {
    decoder->cancels_next = 1;
  } else {
    decoder->outcome = BRIMFUL_ERR_CANCELLED;
    begin(decoder, BRIMFUL_UNKNOWN); /* gives the memory back; where that fails, the next value does it */
  }
}

brimful_status framed_end(const struct framed *decoder)
{
  int between = decoder->payload == 0 && decoder->header.have == 0 && decoder->field.have == 0 &&
                decoder->part == FRAMED_TOTAL;
  return between ? BRIMFUL_OK : BRIMFUL_ERR_SHORT;
}
