/*
 * The values of a row. Each is a body of known length, which its field announces; it is read into one piece of exactly
 * that length, or into a pooled buffer, and is handed out before the row has ended.
 */
#ifndef POSTGRES_VALUE_H
#define POSTGRES_VALUE_H

#include "input.h"

struct value {
  uint64_t row;
  unsigned column;
  int is_null;           /* SQL's NULL, which is not the empty value */
  brimful_status status; /* OK, or why the value is not whole: limit, cancelled, short, no memory, budget */
  void *exact;           /* with BRIMFUL_PREFER_EXACT: `length` bytes from malloc */
  brimful_buffer *pooled; /* else; and of a value that is not whole, what of it had come */
  size_t length;
  brimful_info info;
};

/* Frees what the value holds. */
void value_free(struct value *value);

struct row {
  brimful_collector *collector;
  brimful_options options; /* of every value; the length is the field's own */
  enum { ROW_COUNT, ROW_FIELD, ROW_VALUE, ROW_SKIP } next;
  uint64_t number;
  unsigned column, columns;
  uint64_t length; /* bytes of the message that no field has claimed */
  uint64_t left;   /* bytes of the value that have not come */
};

/* BRIMFUL_ERR_INVALID: an option is out of range. */
brimful_status row_options(struct row *row, const brimful_options *options);

/* A row has begun, in a message of `length` bytes. */
void row_begin(struct row *row, uint64_t length);

/* The row's next value; *given is 0 at its end. As the functions of input.h, and BRIMFUL_ERR_CONTRACT where the
   server's numbers cannot be. An error of a single value is value->status, and the row goes on behind it. */
brimful_status row_next(struct row *row, struct input *input, struct value *value, int *given);

#endif
