/*
 * libevent's evbuffer, filled in place as https://libevent.org/libevent-book/Ref7_evbuffer.html ("Adding data to an
 * evbuffer", evbuffer_reserve_space and evbuffer_commit_space) shows, in the thread that owns it (no locking).
 */
#include "job.h"

#include <event2/buffer.h>
#include <stdlib.h>

/* evbuffer_read asks for at most 4096 bytes a call, and 2.1 has no evbuffer_set_max_read to raise that; reserving by hand
   does. Of 4 KiB to 1 MiB, all were alike to 10 MB, and 1 MiB the best at 100 MB. What is asked for must be contiguous,
   so a source that gives little is asked for little, or most of each piece would stay empty. */
#define AT_LEAST 4096
#define AT_ONCE 1048576

static struct evbuffer *fill(struct job *job)
{
  struct evbuffer *buffer = evbuffer_new();
  struct evbuffer_iovec window;
  size_t want = AT_LEAST;
  for (;;) {
    if (evbuffer_reserve_space(buffer, (ev_ssize_t)want, &window, 1) != 1)
      give_up("evbuffer_reserve_space failed");
    size_t filled = 0;
    int pending = source_read(job, window.iov_base, window.iov_len, &filled);
    size_t doubled = 2 * window.iov_len;
    want = filled < window.iov_len ? AT_LEAST : doubled < AT_ONCE ? doubled : AT_ONCE;
    window.iov_len = filled;
    if (evbuffer_commit_space(buffer, &window, 1) != 0)
      give_up("evbuffer_commit_space failed");
    if (filled == 0 && !pending)
      return buffer;
  }
}

static void in_pieces(struct job *job)
{
  struct evbuffer *buffer = fill(job);
  struct evbuffer_iovec piece;
  struct evbuffer_ptr at;
  size_t length = evbuffer_get_length(buffer);
  evbuffer_ptr_set(buffer, &at, 0, EVBUFFER_PTR_SET);
  while (job->shown < length) {
    if (evbuffer_peek(buffer, -1, &at, &piece, 1) < 1)
      give_up("evbuffer_peek failed");
    show(job, piece.iov_base, piece.iov_len);
    if (job->shown < length && evbuffer_ptr_set(buffer, &at, piece.iov_len, EVBUFFER_PTR_ADD) != 0)
      give_up("evbuffer_ptr_set failed");
  }
  evbuffer_free(buffer);
}

/* Contiguous, in memory of the program's own: evbuffer_remove ("Removing data from an evbuffer"). */
static void exact(struct job *job)
{
  struct evbuffer *buffer = fill(job);
  size_t length = evbuffer_get_length(buffer);
  char *memory = malloc(length > 0 ? length : 1);
  if (memory == NULL || evbuffer_remove(buffer, memory, length) < 0)
    give_up("evbuffer_remove failed");
  evbuffer_free(buffer);
  show(job, memory, length);
  free(memory);
}

static void push(struct job *job)
{
  struct evbuffer *buffer = evbuffer_new();
  const unsigned char *piece;
  for (size_t at = 0; at < job->n;) {
    size_t count = source_piece(job, at, &piece);
    evbuffer_add(buffer, piece, count);
    at += count;
  }
  show(job, evbuffer_pullup(buffer, -1), job->n);
  evbuffer_free(buffer);
}

const struct row rows[] = {
  { "evbuffer", in_pieces, NULL, NULL, NULL },
  { "evbuffer-exact", exact, NULL, NULL, NULL },
  { "evbuffer-push", push, NULL, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
