/*
 * Two bodies in one event loop: one peer floods, the other is blocked most of the time and sends a byte now and then.
 *
 *     cc epoll.c $(pkg-config --cflags --libs brimful) -lpthread && ./a.out
 *
 * With max_step a call of brimful_collector_read_fd takes no more than its share and answers BRIMFUL_MORE. Of those that
 * are readable, whoever was served longest ago comes first, so that nobody waits for longer than one share.
 * At its end the program tells how many bytes of the flood were taken at most while a byte of the quiet peer lay there.
 */
#include <brimful.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP 65536
#define FLOOD (32u << 20)
#define BYTES 200

struct peer {
  const char *name;
  int here, there; /* the two ends of a socket */
  brimful_collector *collector;
  brimful_status status; /* of its last call */
  unsigned long turn;    /* when that was, counted in calls */
};

static void fail(const char *what)
{
  perror(what);
  exit(1);
}

static void *floods(void *context)
{
  static char bytes[100000];
  struct peer *peer = context;
  for (size_t left = FLOOD; left > 0;) {
    ssize_t written = write(peer->there, bytes, left < sizeof bytes ? left : sizeof bytes);
    if (written < 0)
      fail("write");
    left -= (size_t)written;
  }
  close(peer->there);
  return NULL;
}

static void *sends_a_byte_now_and_then(void *context)
{
  struct peer *peer = context;
  for (int i = 0; i < BYTES; i++) {
    usleep(50);
    if (write(peer->there, ".", 1) != 1)
      fail("write");
  }
  close(peer->there);
  return NULL;
}

static void connect_peer(struct peer *peer, int loop, void *(*sends)(void *))
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = peer };
  pthread_t thread;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
    fail("socketpair");
  peer->here = ends[0];
  peer->there = ends[1];
  options.max_step = STEP;
  if (brimful_collector_new(NULL, &options, &peer->collector) != BRIMFUL_OK)
    fail("brimful_collector_new");
  if (epoll_ctl(loop, EPOLL_CTL_ADD, peer->here, &event) != 0)
    fail("epoll_ctl");
  if (pthread_create(&thread, NULL, sends, peer) != 0)
    fail("pthread_create");
  pthread_detach(thread);
}

/* One share of a peer; false when its body has ended. */
static int serve(struct peer *peer)
{
  brimful_buffer *body;
  peer->status = brimful_collector_read_fd(peer->collector, peer->here);
  if (peer->status == BRIMFUL_PENDING || peer->status == BRIMFUL_MORE)
    return 1;
  if (peer->status != BRIMFUL_OK || brimful_collector_finish(peer->collector, &body) != BRIMFUL_OK) {
    fprintf(stderr, "%s: %s\n", peer->name, brimful_status_text(peer->status));
    exit(1);
  }
  printf("%s: %zu bytes\n", peer->name, brimful_buffer_length(body));
  brimful_buffer_release(body);
  brimful_collector_free(peer->collector);
  close(peer->here); /* which takes it out of the loop too */
  return 0;
}

static int by_turn(const void *left, const void *right)
{
  const struct peer *one = ((const struct epoll_event *)left)->data.ptr, *other = ((const struct epoll_event *)right)->data.ptr;
  return (one->turn > other->turn) - (one->turn < other->turn);
}

static unsigned long received(const struct peer *peer)
{
  brimful_info info = { .struct_size = sizeof info };
  return brimful_collector_info(peer->collector, &info) == BRIMFUL_OK ? (unsigned long)info.received : 0;
}

int main(void)
{
  struct peer flood = { .name = "the flood" }, quiet = { .name = "the quiet one" };
  unsigned long most = 0, waited = 0, turns = 0;
  int loop = epoll_create1(0), open = 2, quiet_is_open = 1;
  if (loop < 0)
    fail("epoll_create1");
  connect_peer(&flood, loop, floods);
  connect_peer(&quiet, loop, sends_a_byte_now_and_then);
  while (open > 0) {
    struct epoll_event ready[2];
    int count = epoll_wait(loop, ready, 2, -1);
    if (count > 1)
      qsort(ready, (size_t)count, sizeof ready[0], by_turn); /* whoever had his share longest ago comes first */
    for (int i = 0; i < count; i++) {
      struct peer *peer = ready[i].data.ptr;
      int lies_there = 0; /* what the quiet peer has sent, and the flood is served all the same */
      if (quiet_is_open)
        ioctl(quiet.here, FIONREAD, &lies_there);
      unsigned long before = peer == &flood ? received(peer) : 0;
      peer->turn = ++turns;
      int goes_on = serve(peer);
      open -= !goes_on;
      if (peer == &quiet) {
        waited = 0;
        quiet_is_open = goes_on;
      } else if (lies_there > 0 && goes_on) {
        waited += received(peer) - before;
        most = waited > most ? waited : most;
      }
    }
  }
  close(loop);
  printf("served after at most %lu bytes of the flood (step %d, flood %u)\n", most, STEP, FLOOD);
  return 0;
}
