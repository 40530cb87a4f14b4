/*
 * Values that arrive over many packets, decoded without ever starting again: the target of a value is a collector, which
 * survives between packets, so whatever has come is used at once and never looked at a second time.
 *
 * The format. Numbers are little-endian and unsigned.
 *
 *   connection   packets, one after the other
 *   packet       kind (1 byte, always 4), flags (1 byte, ignored), length of the whole packet (2 bytes, 8 or more), number
 *                of the packet (4 bytes: 0, 1, 2 and so on, 0 again after 2^32 - 1); then length - 8 bytes of payload
 *   payloads     put together they are values, one after the other; a packet may end at any byte of them
 *   value        total (8 bytes), then chunks, then a chunk of length 0; of a missing value there is the total alone
 *   total        the bytes of all its chunks together, or FRAMED_UNKNOWN, or FRAMED_MISSING
 *   chunk        length (4 bytes), then so many bytes
 *
 * An empty value and a missing one are two things. Bytes reach the decoder cut at any place, also within a number.
 *
 *     framed_open(&decoder, NULL, NULL);
 *     while ((length = read(connection, bytes, sizeof bytes)) > 0) {
 *       for (at = 0; at < length; at += used) {
 *         status = framed_feed(&decoder, bytes + at, length - at, &used);
 *         if (status == BRIMFUL_OK && decoder.outcome == BRIMFUL_OK && !decoder.missing)
 *           brimful_collector_finish(decoder.collector, &buffer);
 *       }
 *     }
 *     framed_close(&decoder);
 */
#ifndef FRAMED_H
#define FRAMED_H

#include <brimful.h>

#define FRAMED_HEADER 8
#define FRAMED_KIND 4
#define FRAMED_UNKNOWN (UINT64_MAX - 1)
#define FRAMED_MISSING UINT64_MAX

/* The connection is not in this format: no byte after it means anything. Outside of brimful's own statuses. */
#define FRAMED_BROKEN (-1000)

/* A number, as far as its bytes have come. */
struct framed_field {
  unsigned char bytes[8];
  size_t have;
};

struct framed {
  brimful_collector *collector; /* what has come of the value; from its end to the next framed_feed, all of it */
  brimful_status outcome;       /* of the value that has ended; not BRIMFUL_OK: its bytes are passed over */
  int missing;                  /* the value that has ended is a missing one */
  uint64_t values;              /* that have ended */

  /* The decoder's own. */
  brimful_options options;
  struct framed_field header, field;
  uint32_t packets;
  size_t payload; /* bytes left of this packet */
  uint32_t chunk; /* bytes left of this chunk */
  enum { FRAMED_TOTAL, FRAMED_CHUNK, FRAMED_BYTES } part;
  int ended, cancels_next;
};

/*
 * Makes the one collector that serves all values, in blocks of `pool`, with these options for each of them, length aside;
 * both may be NULL. Answers as brimful_collector_new.
 */
brimful_status framed_open(struct framed *decoder, brimful_pool *pool, const brimful_options *options);

void framed_close(struct framed *decoder);

/*
 * Takes bytes as they come, up to the end of a value; *used says how many, the rest is for the next call.
 *
 * BRIMFUL_OK: a value has ended, with decoder->outcome. BRIMFUL_OK there: it is whole, or decoder->missing. BRIMFUL_ERR_LIMIT,
 * _SHORT or _LONG: it is larger than allowed, or not what its total said; what came can be taken as the partial.
 * BRIMFUL_ERR_CANCELLED: it was not wanted. Whatever it is, the next value is in step.
 * BRIMFUL_PENDING: all bytes are used and the value goes on; what has come can be read by brimful_collector_copy and
 * brimful_collector_segments. BRIMFUL_ERR_NO_MEMORY, BRIMFUL_ERR_BUDGET: nothing is lost; call again with the rest.
 * FRAMED_BROKEN, from now on.
 */
brimful_status framed_feed(struct framed *decoder, const void *data, size_t length, size_t *used);

/*
 * The value that ends next is not wanted: what came of it is dropped, and what is still to come is passed over. It ends
 * with BRIMFUL_ERR_CANCELLED. A value that has ended already is not touched.
 */
void framed_cancel(struct framed *decoder);

/* The connection has ended. BRIMFUL_OK: between two values. BRIMFUL_ERR_SHORT: within a packet or a value. */
brimful_status framed_end(const struct framed *decoder);

#endif
