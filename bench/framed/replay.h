/*
 * What examples/c/framed.h replaces: a decoder that cannot stop in the middle. It reads fields and chunks in one go, and
 * where the packets that have come do not suffice, the attempt is given up and made again, from the first packet, when one
 * more has come. For the benchmark alone; it knows connections of one value.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <stddef.h>
#include <stdint.h>

struct replay {
  const unsigned char *packets;
  size_t came;    /* bytes of whole packets that have come */
  size_t at;      /* where the attempt reads */
  size_t payload; /* bytes left of the packet there */
  uint32_t chunk; /* bytes left of the chunk there */
  int ended;
};

/* Reads the total. 0: more packets are needed. */
int replay_total(struct replay *replay, uint64_t *total);

/* Reads bytes of the value, `length` or up to its end. 0: more packets are needed. */
int replay_bytes(struct replay *replay, unsigned char *target, size_t length, size_t *got);

#endif
