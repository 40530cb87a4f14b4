/*
 * A decoder as a source: what gzip has compressed is inflated straight into the windows of a body, and the limit is one of
 * what comes out. A few kB that would become gigabytes end as `limit`, after so many bytes and no more memory.
 *
 *     cc gunzip.c $(pkg-config --cflags --libs brimful zlib) && ./a.out LIMIT < FILE.gz > FILE
 */
#include <brimful.h>
#include <zlib.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Errors of this source, beside those of read, which are -errno. */
enum { CUT_SHORT = -10001, DAMAGED = -10002, TRAILING = -10003, NO_MEMORY = -10004 };

struct gzip {
  int descriptor;
  z_stream stream;
  unsigned long long members; /* that have ended; a file may have several, one after another */
  int is_between;             /* two members */
  unsigned char input[16384];
};

static int gzip_open(struct gzip *gzip, int descriptor)
{
  memset(gzip, 0, sizeof *gzip);
  gzip->descriptor = descriptor;
  return inflateInit2(&gzip->stream, 16 + MAX_WBITS) == Z_OK;
}

static void gzip_close(struct gzip *gzip)
{
  inflateEnd(&gzip->stream);
}

/* More to inflate; BRIMFUL_OK with nothing there is the end. */
static brimful_status refill(struct gzip *gzip)
{
  ssize_t count = read(gzip->descriptor, gzip->input, sizeof gzip->input);
  if (count < 0)
    return errno == EINTR ? BRIMFUL_RETRY : errno == EAGAIN ? BRIMFUL_PENDING : -errno;
  gzip->stream.next_in = gzip->input;
  gzip->stream.avail_in = (uInt)count;
  return BRIMFUL_OK;
}

static brimful_status gzip_read(void *context, void *window, size_t room, size_t *filled)
{
  struct gzip *gzip = context;
  z_stream *stream = &gzip->stream;
  stream->next_out = window;
  stream->avail_out = (uInt)room; /* a window is never larger than 1 GiB */
  while (*filled == 0) {
    if (stream->avail_in == 0) {
      brimful_status status = refill(gzip);
      if (status != BRIMFUL_OK)
        return status;
      if (stream->avail_in == 0)
        return gzip->is_between ? BRIMFUL_OK : CUT_SHORT;
    }
    if (gzip->is_between && inflateReset(stream) != Z_OK)
      return DAMAGED;
    int code = inflate(stream, Z_NO_FLUSH);
    *filled = room - stream->avail_out;
    gzip->is_between = code == Z_STREAM_END;
    gzip->members += code == Z_STREAM_END;
    if (code == Z_MEM_ERROR)
      return NO_MEMORY;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return gzip->members > 0 && stream->total_out == 0 ? TRAILING : DAMAGED;
  }
  return BRIMFUL_OK;
}

static const char *reason(brimful_status status, int source_error)
{
  if (status != BRIMFUL_ERR_SOURCE)
    return brimful_status_text(status);
  switch (source_error) {
  case CUT_SHORT: return "the input ends too early";
  case DAMAGED: return "the input is damaged, or not gzip";
  case TRAILING: return "something else follows what gzip has compressed";
  case NO_MEMORY: return "no memory to inflate with";
  default: return strerror(-source_error);
  }
}

int main(int count, char **arguments)
{
  static struct gzip gzip;
  brimful_info info = { .struct_size = sizeof info };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_buffer *body;
  brimful_slice piece;
  options.limit = count > 1 ? strtoull(arguments[1], NULL, 10) : 100000000;
  options.info = &info;
  if (!gzip_open(&gzip, 0)) {
    fprintf(stderr, "no memory\n");
    return 1;
  }
  brimful_status status = brimful_collect(NULL, &options, gzip_read, &gzip, &body, NULL);
  gzip_close(&gzip);
  if (status != BRIMFUL_OK) {
    fprintf(stderr, "%s; %llu bytes had come, in %llu of memory\n", reason(status, info.source_error),
            (unsigned long long)info.length, (unsigned long long)info.peak_held);
    return 1;
  }
  for (size_t i = 0; brimful_buffer_segments(body, i, &piece, 1) == 1; i++)
    fwrite(piece.data, 1, piece.length, stdout);
  brimful_buffer_release(body);
  return fflush(stdout) != 0;
}
