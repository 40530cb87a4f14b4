/* GLib's GByteArray: g_byte_array_append from a warm buffer (https://docs.gtk.org/glib/type_func.ByteArray.append.html). */
#include "job.h"

#include <glib.h>

static void append(struct job *job)
{
  static __thread guint8 piece[WARM_BLOCK];
  GByteArray *array = g_byte_array_new();
  size_t filled;
  for (;;) {
    filled = 0;
    if (source_read(job, piece, sizeof piece, &filled) == 0 && filled == 0)
      break;
    g_byte_array_append(array, piece, (guint)filled);
  }
  guint length = array->len;
  guint8 *data = g_byte_array_free(array, FALSE);
  show(job, data, length);
  g_free(data);
}

static void push(struct job *job)
{
  GByteArray *array = g_byte_array_new();
  const unsigned char *piece;
  for (size_t at = 0; at < job->n;) {
    size_t count = source_piece(job, at, &piece);
    g_byte_array_append(array, piece, (guint)count);
    at += count;
  }
  guint length = array->len;
  guint8 *data = g_byte_array_free(array, FALSE);
  show(job, data, length);
  g_free(data);
}

const struct row rows[] = {
  { "gbytearray", append, NULL, NULL, NULL },
  { "gbytearray-push", push, NULL, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
