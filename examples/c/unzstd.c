/*
 * The same as gunzip.c for what zstd has compressed: a decoder as a source, with a limit on what comes out.
 *
 *     cc unzstd.c $(pkg-config --cflags --libs brimful libzstd) && ./a.out LIMIT < FILE.zst > FILE
 */
#include <brimful.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Errors of this source, beside those of read, which are -errno. */
enum { CUT_SHORT = -10001, DAMAGED = -10002, TRAILING = -10003, NO_MEMORY = -10004, WINDOW = -10005 };

/*
 * The decoder's own memory, which no limit of the body's counts: as many bytes as RFC 8878 asks of a decoder, 8 MiB. A
 * frame can ask for more.
 */
#define WINDOW_LOG 23

struct zstd {
  int descriptor;
  ZSTD_DStream *stream;
  ZSTD_inBuffer in;
  unsigned long long frames; /* that have ended; a file may have several, one after another */
  int is_between;            /* two frames */
  int has_more;              /* that comes out without anything going in */
  unsigned char input[16384];
};

static int zstd_open(struct zstd *zstd, int descriptor)
{
  memset(zstd, 0, sizeof *zstd);
  zstd->descriptor = descriptor;
  zstd->in.src = zstd->input;
  zstd->stream = ZSTD_createDStream();
  return zstd->stream != NULL && !ZSTD_isError(ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, WINDOW_LOG));
}

static void zstd_close(struct zstd *zstd)
{
  ZSTD_freeDStream(zstd->stream);
}

/* More to decompress; BRIMFUL_OK with nothing there is the end. */
static brimful_status refill(struct zstd *zstd)
{
  ssize_t count = read(zstd->descriptor, zstd->input, sizeof zstd->input);
  if (count < 0)
    return errno == EINTR ? BRIMFUL_RETRY : errno == EAGAIN ? BRIMFUL_PENDING : -errno;
  zstd->in.pos = 0;
  zstd->in.size = (size_t)count;
  return BRIMFUL_OK;
}

static brimful_status failure(const struct zstd *zstd, size_t code)
{
  switch (ZSTD_getErrorCode(code)) {
  case ZSTD_error_memory_allocation: return NO_MEMORY;
  case ZSTD_error_frameParameter_windowTooLarge: return WINDOW;
  case ZSTD_error_prefix_unknown: return zstd->frames > 0 ? TRAILING : DAMAGED;
  default: return DAMAGED;
  }
}

static brimful_status zstd_read(void *context, void *window, size_t room, size_t *filled)
{
  struct zstd *zstd = context;
  ZSTD_outBuffer out = { window, room, 0 };
  while (*filled == 0) {
    if (zstd->in.pos == zstd->in.size && !zstd->has_more) {
      brimful_status status = refill(zstd);
      if (status != BRIMFUL_OK)
        return status;
      if (zstd->in.size == 0)
        return zstd->is_between ? BRIMFUL_OK : CUT_SHORT;
    }
    size_t code = ZSTD_decompressStream(zstd->stream, &out, &zstd->in);
    *filled = out.pos;
    if (ZSTD_isError(code))
      return failure(zstd, code);
    zstd->is_between = code == 0;
    zstd->frames += code == 0;
    zstd->has_more = out.pos == out.size && code != 0;
  }
  return BRIMFUL_OK;
}

static const char *reason(brimful_status status, int source_error)
{
  if (status != BRIMFUL_ERR_SOURCE)
    return brimful_status_text(status);
  switch (source_error) {
  case CUT_SHORT: return "the input ends too early";
  case DAMAGED: return "the input is damaged, or not zstd";
  case TRAILING: return "something else follows what zstd has compressed";
  case NO_MEMORY: return "no memory to decompress with";
  case WINDOW: return "the input wants a decoder with more memory than 8 MiB";
  default: return strerror(-source_error);
  }
}

int main(int count, char **arguments)
{
  static struct zstd zstd;
  brimful_info info = { .struct_size = sizeof info };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_buffer *body;
  brimful_slice piece;
  options.limit = count > 1 ? strtoull(arguments[1], NULL, 10) : 100000000;
  options.info = &info;
  if (!zstd_open(&zstd, 0)) {
    fprintf(stderr, "no memory\n");
    return 1;
  }
  brimful_status status = brimful_collect(NULL, &options, zstd_read, &zstd, &body, NULL);
  zstd_close(&zstd);
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
