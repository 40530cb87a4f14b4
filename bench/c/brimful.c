/* brimful, through its C interface, as a program would use it that found it with pkg-config. */
#include "job.h"

#include <brimful.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void check(brimful_status status)
{
  if (status != BRIMFUL_OK)
    give_up(brimful_status_name(status));
}

static void options_of(const struct job *job, brimful_options *options)
{
  brimful_options_init(options, sizeof *options);
  options->length = job->length;
  options->size_hint = job->hint;
  if (job->first_block > 0)
    options->first_block = job->first_block;
  if (job->max_window > 0)
    options->max_window = job->max_window;
}

/* ---- pools */

static void pool_with(struct job *job, uint64_t retained, uint32_t flags)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  options.max_retained = retained;
  options.flags = flags;
  check(brimful_pool_new(&options, &pool));
  job->shared = pool;
}

static void default_pool(struct job *job)
{
  job->shared = brimful_pool_default();
}

static void large_pool(struct job *job)
{
  pool_with(job, (uint64_t)256 << 20, 0);
}

static void list_pool(struct job *job)
{
  pool_with(job, (uint64_t)256 << 20, BRIMFUL_POOL_LIST);
}

static void tell_pool(const struct job *job)
{
  brimful_pool_statistics stats;
  stats.struct_size = sizeof stats;
  check(brimful_pool_stats(job->shared, &stats));
  printf("\"rented\": %llu, \"reused\": %llu, \"allocated\": %llu, \"retained_bytes\": %llu, \"peak_bytes\": %llu",
         (unsigned long long)stats.rented, (unsigned long long)stats.reused, (unsigned long long)stats.allocated,
         (unsigned long long)stats.retained_bytes, (unsigned long long)stats.peak_bytes);
}

/* ---- results */

static void show_buffer(struct job *job, brimful_buffer *buffer)
{
  brimful_slice pieces[8];
  size_t count;
  if (job->counting) {
    brimful_info info;
    info.struct_size = sizeof info;
    check(brimful_buffer_info(buffer, &info));
    job->waste = (size_t)info.waste;
  }
  for (size_t first = 0; (count = brimful_buffer_segments(buffer, first, pieces, 8)) > 0; first += count)
    for (size_t i = 0; i < count; i++)
      show(job, pieces[i].data, pieces[i].length);
}

static void pooled(struct job *job)
{
  brimful_options options;
  brimful_buffer *buffer;
  options_of(job, &options);
  check(brimful_collect(job->shared, &options, source_read, job, &buffer, NULL));
  show_buffer(job, buffer);
  brimful_buffer_release(buffer);
}

static void exact(struct job *job)
{
  brimful_options options;
  void *data;
  size_t length;
  options_of(job, &options);
  check(brimful_collect_exact(job->shared, &options, source_read, job, &data, &length, NULL));
  show(job, data, length);
  free(data);
}

/* ---- collectors: suspended reads, pushes, windows, descriptors */

static brimful_collector *collector_of(struct job *job, uint32_t prefer)
{
  brimful_options options;
  brimful_collector *collector;
  options_of(job, &options);
  options.prefer = prefer;
  check(brimful_collector_new(job->shared, &options, &collector));
  return collector;
}

static void finish_pooled(struct job *job, brimful_collector *collector)
{
  brimful_buffer *buffer;
  check(brimful_collector_finish(collector, &buffer));
  show_buffer(job, buffer);
  brimful_buffer_release(buffer);
  brimful_collector_free(collector);
}

static void finish_exact(struct job *job, brimful_collector *collector)
{
  void *data;
  size_t length;
  check(brimful_collector_finish_exact(collector, &data, &length));
  show(job, data, length);
  free(data);
  brimful_collector_free(collector);
}

static void read_all(struct job *job, brimful_collector *collector)
{
  brimful_status status;
  while ((status = brimful_collector_read(collector, source_read, job)) == BRIMFUL_PENDING)
    ;
  check(status);
}

static void read_pooled(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_POOLED);
  read_all(job, collector);
  finish_pooled(job, collector);
}

static void read_exact(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_EXACT);
  read_all(job, collector);
  finish_exact(job, collector);
}

/* Piecewise: the caller asks for windows and fills them itself, one answer of the source in each. */
static void window_pooled(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_POOLED);
  while (brimful_collector_is_complete(collector) == 0) {
    void *window;
    size_t room, filled = 0;
    check(brimful_collector_reserve(collector, 0, &window, &room));
    int pending = source_read(job, window, room, &filled);
    check(brimful_collector_commit(collector, filled));
    if (filled == 0 && !pending)
      check(brimful_collector_end(collector));
  }
  finish_pooled(job, collector);
}

static void push_all(struct job *job, brimful_collector *collector)
{
  const unsigned char *piece;
  for (size_t at = 0; at < job->n;) {
    size_t length = source_piece(job, at, &piece);
    check(brimful_collector_write(collector, piece, length, NULL));
    at += length;
  }
  check(brimful_collector_end(collector));
}

static void push_pooled(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_POOLED);
  push_all(job, collector);
  finish_pooled(job, collector);
}

static void push_exact(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_EXACT);
  push_all(job, collector);
  finish_exact(job, collector);
}

static void fd_pooled(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_POOLED);
  check(brimful_collector_read_fd(collector, job->fd));
  finish_pooled(job, collector);
}

static void fd_exact(struct job *job)
{
  brimful_collector *collector = collector_of(job, BRIMFUL_PREFER_EXACT);
  check(brimful_collector_read_fd(collector, job->fd));
  finish_exact(job, collector);
}

/* ---- released on another thread than it was collected on */

#define SLOTS 4

struct handoff {
  brimful_buffer *slots[SLOTS];
  unsigned next;
};

static void *release_all(void *argument)
{
  struct handoff *handoff = argument;
  for (unsigned at = 0;; at = (at + 1) % SLOTS) {
    brimful_buffer *buffer;
    while ((buffer = __atomic_exchange_n(&handoff->slots[at], NULL, __ATOMIC_ACQUIRE)) == NULL)
      sched_yield();
    brimful_buffer_release(buffer);
  }
  return NULL;
}

static void handed_over(struct job *job)
{
  struct handoff *handoff = job->own;
  brimful_options options;
  brimful_buffer *buffer;
  if (handoff == NULL) {
    pthread_t thread;
    handoff = job->own = calloc(1, sizeof *handoff);
    pthread_create(&thread, NULL, release_all, handoff);
  }
  options_of(job, &options);
  check(brimful_collect(job->shared, &options, source_read, job, &buffer, NULL));
  show_buffer(job, buffer);
  while (__atomic_load_n(&handoff->slots[handoff->next], __ATOMIC_ACQUIRE) != NULL)
    sched_yield();
  __atomic_store_n(&handoff->slots[handoff->next], buffer, __ATOMIC_RELEASE);
  handoff->next = (handoff->next + 1) % SLOTS;
}

const struct row rows[] = {
  { "pooled", pooled, default_pool, NULL, tell_pool },
  { "pooled-256", pooled, large_pool, NULL, tell_pool },
  { "pooled-list", pooled, list_pool, NULL, tell_pool },
  { "exact", exact, default_pool, NULL, tell_pool },
  { "read-pooled", read_pooled, large_pool, NULL, tell_pool },
  { "read-exact", read_exact, large_pool, NULL, tell_pool },
  { "window-pooled", window_pooled, large_pool, NULL, tell_pool },
  { "push-pooled", push_pooled, large_pool, NULL, tell_pool },
  { "push-exact", push_exact, large_pool, NULL, tell_pool },
  { "fd-pooled", fd_pooled, large_pool, NULL, tell_pool },
  { "fd-exact", fd_exact, large_pool, NULL, tell_pool },
  { "handed-over", handed_over, large_pool, NULL, tell_pool },
  { NULL, NULL, NULL, NULL, NULL },
};
