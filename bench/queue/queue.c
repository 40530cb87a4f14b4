/*
 * Queues of bytes in C, side by side: brimful's and libevent's evbuffer. What each workload does is in work(); Rust's
 * queues do the same in src/main.rs.
 *
 *     queue                      names of the queues
 *     queue QUEUE WORK ROUNDS    ns per round, and the most memory that was resident beyond the start, in bytes
 */
#include <brimful.h>
#include <event2/buffer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned char data[1 << 20], target[1 << 20];

struct kind {
  const char *name;
  void *(*make)(void);
  void (*write)(void *queue, size_t length);
  void (*fill)(void *queue, size_t length); /* by a window */
  void (*read)(void *queue, size_t length);
  void (*hand_off)(void *queue); /* all that waits becomes a body, which is given back */
  void (*end)(void *queue);
};

static void must(int right)
{
  if (!right) {
    fputs("queue: a call failed\n", stderr);
    exit(1);
  }
}

static void *ours_make(void)
{
  brimful_queue *queue;
  must(brimful_queue_new(NULL, BRIMFUL_UNLIMITED, &queue) == BRIMFUL_OK);
  return queue;
}

static void ours_write(void *queue, size_t length)
{
  size_t written;
  must(brimful_queue_write(queue, data, length, &written) == BRIMFUL_OK);
}

static void ours_fill(void *queue, size_t length)
{
  while (length > 0) {
    void *window;
    size_t room;
    must(brimful_queue_reserve(queue, length, &window, &room) == BRIMFUL_OK);
    room = room < length ? room : length;
    memcpy(window, data, room);
    must(brimful_queue_commit(queue, room) == BRIMFUL_OK);
    length -= room;
  }
}

static void ours_read(void *queue, size_t length)
{
  size_t count;
  must(brimful_queue_read(queue, target, length, &count) == BRIMFUL_OK && count == length);
}

static void ours_hand_off(void *queue)
{
  static brimful_collector *collector;
  brimful_buffer *buffer;
  size_t taken;
  if (collector == NULL)
    must(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  must(brimful_queue_move(queue, collector, &taken) == BRIMFUL_OK);
  must(brimful_collector_end(collector) == BRIMFUL_OK && brimful_collector_finish(collector, &buffer) == BRIMFUL_OK);
  brimful_buffer_release(buffer);
  brimful_collector_reset(collector, NULL);
}

static void ours_end(void *queue)
{
  brimful_queue_free(queue);
}

static void *event_make(void)
{
  return evbuffer_new();
}

static void event_write(void *queue, size_t length)
{
  must(evbuffer_add(queue, data, length) == 0);
}

static void event_fill(void *queue, size_t length)
{
  struct evbuffer_iovec window;
  must(evbuffer_reserve_space(queue, (ev_ssize_t)length, &window, 1) == 1);
  memcpy(window.iov_base, data, length);
  window.iov_len = length;
  must(evbuffer_commit_space(queue, &window, 1) == 0);
}

static void event_read(void *queue, size_t length)
{
  must(evbuffer_remove(queue, target, length) == (int)length);
}

static void event_hand_off(void *queue)
{
  struct evbuffer *body = evbuffer_new();
  must(body != NULL && evbuffer_add_buffer(body, queue) == 0);
  evbuffer_free(body);
}

static void event_end(void *queue)
{
  evbuffer_free(queue);
}

static const struct kind kinds[] = {
  { "brimful", ours_make, ours_write, ours_fill, ours_read, ours_hand_off, ours_end },
  { "evbuffer", event_make, event_write, event_fill, event_read, event_hand_off, event_end },
};

static void work(const struct kind *kind, void *queue, const char *name, unsigned long rounds)
{
  if (strcmp(name, "small") == 0) { /* 16 bytes in, 16 out, nothing else waits */
    for (unsigned long i = 0; i < rounds; i++) {
      kind->write(queue, 16);
      kind->read(queue, 16);
    }
  } else if (strcmp(name, "backlog") == 0) { /* 100 bytes in, 100 out, 64 KiB wait */
    for (size_t i = 0; i < 655; i++)
      kind->write(queue, 100);
    for (unsigned long i = 0; i < rounds; i++) {
      kind->write(queue, 100);
      kind->read(queue, 100);
    }
  } else if (strcmp(name, "chunks") == 0) { /* 16 KiB in, 16 KiB out, 1 MiB waits */
    for (size_t i = 0; i < 64; i++)
      kind->write(queue, 16384);
    for (unsigned long i = 0; i < rounds; i++) {
      kind->write(queue, 16384);
      kind->read(queue, 16384);
    }
  } else if (strcmp(name, "windows") == 0) { /* 16 KiB by a window, read in pieces of 1 KiB */
    for (unsigned long i = 0; i < rounds; i++) {
      kind->fill(queue, 16384);
      for (size_t piece = 0; piece < 16; piece++)
        kind->read(queue, 1024);
    }
  } else if (strcmp(name, "flood") == 0) { /* 64 MiB come in pieces of 4 KiB, then go in pieces of 64 KiB */
    for (unsigned long i = 0; i < rounds; i++) {
      for (size_t piece = 0; piece < 16384; piece++)
        kind->write(queue, 4096);
      for (size_t piece = 0; piece < 1024; piece++)
        kind->read(queue, 65536);
    }
  } else if (strcmp(name, "handoff") == 0) { /* 1 MiB comes in pieces of 4 KiB and becomes a body */
    for (unsigned long i = 0; i < rounds; i++) {
      for (size_t piece = 0; piece < 256; piece++)
        kind->write(queue, 4096);
      kind->hand_off(queue);
    }
  } else {
    must(0);
  }
}

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A number of kB from /proc/self/status, in bytes. */
static long resident(const char *field)
{
  char line[256];
  long bytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  must(file != NULL);
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, field, strlen(field)) == 0)
      bytes = strtol(line + strlen(field) + 1, NULL, 10) * 1024;
  fclose(file);
  return bytes;
}

int main(int count, char **arguments)
{
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (count < 4) {
      puts(kinds[i].name);
    } else if (strcmp(arguments[1], kinds[i].name) == 0) {
      void *queue = kinds[i].make();
      unsigned long rounds = strtoul(arguments[3], NULL, 10);
      memset(data, 1, sizeof data);
      memset(target, 1, sizeof target);
      long held = resident("VmRSS");
      double started = now();
      work(&kinds[i], queue, arguments[2], rounds);
      printf("%.3f %ld\n", (now() - started) / (double)rounds, resident("VmHWM") - held);
      kinds[i].end(queue);
    }
  }
  return 0;
}
