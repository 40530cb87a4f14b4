#include "value.h"

#include <stdlib.h>

void value_free(struct value *value)
{
  brimful_buffer_release(value->pooled);
  free(value->exact);
  value->pooled = NULL;
  value->exact = NULL;
}

brimful_status row_options(struct row *row, const brimful_options *options)
{
  brimful_options all = BRIMFUL_OPTIONS_INIT;
  if (options != NULL)
    all = *options;
  /* The server that one has logged in to may announce what it likes up to its own limit of 1 GB for a field: memory
     that no byte has reached costs nothing, and so the value is allocated once and never moved. */
  if (all.max_prealloc == 0)
    all.max_prealloc = 1 << 30;
  if (all.max_step == 0)
    all.max_step = INPUT_SHARE;
  brimful_status status = brimful_collector_reset(row->collector, &all);
  if (status == BRIMFUL_OK) {
    row->options = all;
    row->number = 0;
  }
  return status;
}

void row_begin(struct row *row, uint64_t length)
{
  row->length = length;
  row->next = ROW_COUNT;
}

/* Hands out what the collector has, whole or not. */
static void take(struct row *row, brimful_status status, struct value *value)
{
  value->status = status;
  if (status == BRIMFUL_OK && row->options.prefer == BRIMFUL_PREFER_EXACT)
    value->status = brimful_collector_finish_exact(row->collector, &value->exact, &value->length);
  else if (status == BRIMFUL_OK)
    value->status = brimful_collector_finish(row->collector, &value->pooled);
  if (value->status != BRIMFUL_OK)
    brimful_collector_take_partial(row->collector, &value->pooled); /* none, where there is no memory for its handle */
  if (value->pooled != NULL)
    value->length = brimful_buffer_length(value->pooled);
  brimful_collector_info(row->collector, &value->info);
}

brimful_status row_next(struct row *row, struct input *input, struct value *value, int *given)
{
  const unsigned char *field;
  brimful_status status;
  *given = 0;
  for (;;) {
    switch (row->next) {
    case ROW_COUNT:
      if (row->length < 2)
        return BRIMFUL_ERR_CONTRACT;
      if ((status = input_field(input, 2, &field)) != BRIMFUL_OK)
        return status;
      row->length -= 2;
      row->columns = number16(field);
      row->column = 0;
      row->next = ROW_FIELD;
      break;

    case ROW_FIELD:
      if (row->column == row->columns) {
        row->number++;
        return row->length == 0 ? BRIMFUL_OK : BRIMFUL_ERR_CONTRACT;
      }
      if (row->length < 4)
        return BRIMFUL_ERR_CONTRACT;
      if ((status = input_field(input, 4, &field)) != BRIMFUL_OK)
        return status;
      row->length -= 4;
      row->left = number32(field);
      *value = (struct value){ .row = row->number, .column = row->column, .info.struct_size = sizeof value->info };
      if (row->left == UINT32_MAX) { /* -1 */
        value->is_null = *given = 1;
        row->column++;
        return BRIMFUL_OK;
      }
      if (row->left > row->length)
        return BRIMFUL_ERR_CONTRACT;
      row->length -= row->left;
      row->options.length = row->left;
      status = brimful_collector_reset(row->collector, &row->options);
      row->next = status == BRIMFUL_OK ? ROW_VALUE : ROW_SKIP;
      if (status != BRIMFUL_OK) { /* no memory: this value is refused, and the next one may fit */
        value->status = status;
        *given = 1;
        row->column++;
        return BRIMFUL_OK;
      }
      break;

    case ROW_VALUE:
      status = input_collect(input, row->collector, &row->left);
      if (status > BRIMFUL_OK)
        return status;
      *value = (struct value){ .row = row->number, .column = row->column, .info.struct_size = sizeof value->info };
      take(row, status, value);
      *given = 1;
      row->column++;
      row->next = ROW_SKIP; /* nothing, when the value is whole */
      return BRIMFUL_OK;

    case ROW_SKIP:
      if ((status = input_skip(input, &row->left)) != BRIMFUL_OK)
        return status;
      row->next = ROW_FIELD;
      break;
    }
  }
}
