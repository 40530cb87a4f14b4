/*
 * Collects into a struct of the caller's: records of a known layout, each 4 bytes of kind, 4 of length (both big endian)
 * and so many of payload, one after another on standard input.
 *
 *     cc records.c $(pkg-config --cflags --libs brimful) && ./a.out < RECORDS
 */
#include <brimful.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct record {
  uint32_t kind;
  size_t length;
  unsigned char payload[4096];
};

static brimful_status read_descriptor(void *context, void *window, size_t room, size_t *filled)
{
  ssize_t count = read(*(const int *)context, window, room);
  if (count < 0)
    return errno == EINTR ? BRIMFUL_RETRY : -errno;
  *filled = (size_t)count;
  return BRIMFUL_OK;
}

static uint32_t big_endian(const unsigned char *bytes)
{
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/*
 * Exactly `length` bytes into the target: the source is never asked for a byte beyond them, so the next record stays in
 * the descriptor. More than `capacity` is BRIMFUL_ERR_LIMIT before a byte of it is read.
 */
static brimful_status read_into(int descriptor, uint64_t length, void *target, size_t capacity, size_t *came)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.length = length;
  return brimful_collect_into(&options, read_descriptor, &descriptor, target, capacity, came, NULL);
}

/* BRIMFUL_OK, or why not; *is_end: the input has ended between two records. */
static brimful_status read_record(int descriptor, struct record *record, int *is_end)
{
  unsigned char head[8];
  size_t came;
  brimful_status status = read_into(descriptor, sizeof head, head, sizeof head, &came);
  *is_end = status == BRIMFUL_ERR_SHORT && came == 0;
  if (status != BRIMFUL_OK)
    return status;
  record->kind = big_endian(head);
  return read_into(descriptor, big_endian(head + 4), record->payload, sizeof record->payload, &record->length);
}

int main(void)
{
  struct record record;
  brimful_status status;
  int is_end;
  while ((status = read_record(0, &record, &is_end)) == BRIMFUL_OK) {
    printf("%u: %zu bytes: ", (unsigned)record.kind, record.length);
    fwrite(record.payload, 1, record.length, stdout);
    putchar('\n');
  }
  if (is_end)
    return 0;
  fprintf(stderr, "a record is broken: %s\n", brimful_status_text(status));
  return 1;
}
