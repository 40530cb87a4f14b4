/*
 * One thread receives, another one takes messages apart; between them lies a queue.
 *
 *     cc queue.c $(pkg-config --cflags --libs brimful) -lpthread && ./a.out
 *
 * A message is 4 bytes of length (little endian) and a body. The receiver has the kernel write into windows of the queue
 * and stands still while it is full, so that a peer that sends faster than messages are used is held back by its socket.
 * The reader takes each header by brimful_queue_read and lets a collector have the body by brimful_queue_move: whole
 * blocks of the queue become the body's own.
 *
 * A queue is used by one thread at a time, so each call is made with the lock held. Receiving into the window, and
 * all work on a body, happens without it. At its end the program tells what came.
 */
#include <brimful.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES 40
#define CAPACITY (1u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER; /* bytes came, bytes went, or the end */
static brimful_queue *queue;
static uint64_t most; /* bytes that waited at once */
static int peer[2];

static void check(brimful_status status)
{
  if (status < 0) {
    fprintf(stderr, "%s\n", brimful_status_text(status));
    exit(1);
  }
}

static size_t length_of(unsigned message)
{
  return message % 5 == 0 ? message : 100000u * message;
}

static void *sends(void *context)
{
  static unsigned char bytes[4 + 100000 * MESSAGES];
  (void)context;
  for (unsigned message = 0; message < MESSAGES; message++) {
    size_t length = length_of(message), sent = 0;
    for (size_t i = 0; i < 4; i++)
      bytes[i] = (unsigned char)(length >> 8 * i);
    for (size_t i = 0; i < length; i++)
      bytes[4 + i] = (unsigned char)((message + i) % 251);
    while (sent < 4 + length) {
      ssize_t count = write(peer[0], bytes + sent, 4 + length - sent);
      if (count <= 0)
        exit(1);
      sent += (size_t)count;
    }
  }
  close(peer[0]);
  return NULL;
}

static void *receives(void *context)
{
  ssize_t count;
  (void)context;
  do {
    void *window;
    size_t room;
    brimful_status status;
    pthread_mutex_lock(&lock);
    while ((status = brimful_queue_reserve(queue, 65536, &window, &room)) == BRIMFUL_PENDING)
      pthread_cond_wait(&changed, &lock); /* full */
    pthread_mutex_unlock(&lock);
    check(status);

    count = read(peer[1], window, room);

    pthread_mutex_lock(&lock);
    check(brimful_queue_commit(queue, count > 0 ? (size_t)count : 0));
    if (count <= 0)
      check(brimful_queue_end(queue, count == 0 ? BRIMFUL_OK : BRIMFUL_ERR_SOURCE));
    if (brimful_queue_length(queue) > most)
      most = brimful_queue_length(queue);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
  } while (count > 0);
  return NULL;
}

/* 1 with the whole header in *length, 0 at the end of the stream. */
static int read_header(size_t *length)
{
  unsigned char header[4];
  size_t there = 0, count;
  brimful_status status = BRIMFUL_OK;
  pthread_mutex_lock(&lock);
  while (there < sizeof header) {
    status = brimful_queue_read(queue, header + there, sizeof header - there, &count);
    if (status < 0 || (status == BRIMFUL_OK && count == 0))
      break;
    there += count;
    if (status == BRIMFUL_PENDING)
      pthread_cond_wait(&changed, &lock); /* empty */
    else
      pthread_cond_signal(&changed);
  }
  pthread_mutex_unlock(&lock);
  check(status);
  *length = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16 | (size_t)header[3] << 24;
  return there == sizeof header;
}

static void read_body(brimful_collector *collector)
{
  brimful_status status = BRIMFUL_OK;
  size_t taken;
  pthread_mutex_lock(&lock);
  while (brimful_collector_is_complete(collector) == 0) {
    status = brimful_queue_move(queue, collector, &taken);
    if (status == BRIMFUL_PENDING)
      pthread_cond_wait(&changed, &lock);
    else if (status == BRIMFUL_OK && taken > 0)
      pthread_cond_signal(&changed);
    else
      status = status < 0 ? status : brimful_collector_end(collector); /* the stream ended: short */
    if (status < 0)
      break;
  }
  pthread_mutex_unlock(&lock);
  check(status);
}

static int is_right(const brimful_buffer *body, unsigned message)
{
  brimful_slice slice;
  size_t at = 0;
  for (size_t i = 0; brimful_buffer_segments(body, i, &slice, 1) == 1; i++)
    for (size_t j = 0; j < slice.length; j++, at++)
      if (((const unsigned char *)slice.data)[j] != (message + at) % 251)
        return 0;
  return at == length_of(message);
}

int main(void)
{
  pthread_t sender, receiver;
  brimful_collector *collector;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  unsigned messages = 0, right = 0;
  uint64_t bytes = 0, copied = 0;
  size_t length;
  check(brimful_queue_new(NULL, CAPACITY, &queue));
  check(brimful_collector_new(NULL, NULL, &collector));
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, peer) != 0 || pthread_create(&sender, NULL, sends, NULL) != 0 ||
      pthread_create(&receiver, NULL, receives, NULL) != 0)
    return 1;
  while (read_header(&length)) {
    brimful_info info = { .struct_size = sizeof info };
    brimful_buffer *body;
    options.length = length;
    check(brimful_collector_reset(collector, &options));
    read_body(collector);
    check(brimful_collector_finish(collector, &body));
    check(brimful_buffer_info(body, &info));
    right += (unsigned)is_right(body, messages++);
    bytes += length;
    copied += info.copied;
    brimful_buffer_release(body);
  }
  pthread_join(sender, NULL);
  pthread_join(receiver, NULL);
  brimful_collector_free(collector);
  brimful_queue_free(queue);
  printf("%u messages, %u right, %llu bytes, %llu copied, at most %s waited\n", messages, right,
         (unsigned long long)bytes, (unsigned long long)copied, most <= CAPACITY ? "1 MiB" : "more than 1 MiB");
  return 0;
}
