/*
 * A server that takes whole uploads over many connections, in one thread and on one pool.
 *
 *     cc uploads.c $(pkg-config --cflags --libs brimful) && ./a.out LIMIT BUDGET
 *
 * It prints its port. A peer sends its bytes and ends its sending side (`nc -N 127.0.0.1 PORT < FILE`); it is answered with
 * a line: how many bytes came and their Adler-32, or why they were not taken. LIMIT is each body's, BUDGET all bodies'.
 */
#define _GNU_SOURCE
#include <brimful.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEP 65536         /* one peer's share before the next one's turn */
#define PASSED_OVER 4194304 /* bytes of a refused upload, before its connection is cut */

struct peer {
  int socket;
  brimful_collector *collector; /* NULL: it has been answered, and what it still sends is passed over */
  size_t passed_over;
};

static void fail(const char *what)
{
  perror(what);
  exit(1);
}

static int listen_on_loopback(void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1000) != 0
      || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
    fail("listen");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

static void leave(struct peer *peer)
{
  close(peer->socket); /* which takes it out of the loop too */
  brimful_collector_free(peer->collector);
  free(peer);
}

static void welcome(int loop, int listener, brimful_pool *pool, const brimful_options *options)
{
  int socket;
  while ((socket = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    struct peer *peer = calloc(1, sizeof *peer);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = peer };
    if (peer == NULL) {
      close(socket);
      continue;
    }
    peer->socket = socket;
    if (brimful_collector_new(pool, options, &peer->collector) != BRIMFUL_OK
        || epoll_ctl(loop, EPOLL_CTL_ADD, socket, &event) != 0)
      leave(peer);
  }
}

static unsigned long adler32(const brimful_buffer *body)
{
  unsigned long low = 1, high = 0;
  brimful_slice piece;
  for (size_t number = 0; brimful_buffer_segments(body, number, &piece, 1) == 1; number++) {
    for (size_t i = 0; i < piece.length; i++) {
      low = (low + ((const unsigned char *)piece.data)[i]) % 65521;
      high = (high + low) % 65521;
    }
  }
  return high << 16 | low;
}

/* Answers with a line, which fits into any socket's empty buffer, and gives what came back to the pool. */
static void answer(struct peer *peer, brimful_status status)
{
  char line[128];
  brimful_buffer *body = NULL;
  if (status == BRIMFUL_OK)
    status = brimful_collector_finish(peer->collector, &body);
  if (status == BRIMFUL_OK)
    snprintf(line, sizeof line, "%zu bytes, %08lx\n", brimful_buffer_length(body), adler32(body));
  else
    snprintf(line, sizeof line, "refused: %s\n", brimful_status_name(status));
  brimful_buffer_release(body);
  brimful_collector_free(peer->collector);
  peer->collector = NULL;
  send(peer->socket, line, strlen(line), MSG_NOSIGNAL);
  shutdown(peer->socket, SHUT_WR);
}

/* A connection closed while bytes lie there is reset, and the peer may never see the answer. */
static void pass_over(struct peer *peer)
{
  static char nowhere[STEP];
  ssize_t count = read(peer->socket, nowhere, sizeof nowhere);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  peer->passed_over += count > 0 ? (size_t)count : 0;
  if (count <= 0 || peer->passed_over > PASSED_OVER)
    leave(peer);
}

static void serve(struct peer *peer)
{
  if (peer->collector == NULL) {
    pass_over(peer);
    return;
  }
  brimful_status status = brimful_collector_read_fd(peer->collector, peer->socket);
  if (status != BRIMFUL_PENDING && status != BRIMFUL_MORE) /* which go on when the loop says so */
    answer(peer, status);
}

int main(int count, char **arguments)
{
  struct epoll_event ready[64] = { { .events = EPOLLIN } };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  if (count != 3) {
    fprintf(stderr, "usage: uploads LIMIT BUDGET\n");
    return 2;
  }
  options.limit = strtoull(arguments[1], NULL, 10);
  options.max_step = STEP;
  pool_options.budget = strtoull(arguments[2], NULL, 10);
  int listener = listen_on_loopback(), loop = epoll_create1(EPOLL_CLOEXEC);
  if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, listener, ready) != 0) /* its data is NULL */
    fail("epoll");
  if (brimful_pool_new(&pool_options, &pool) != BRIMFUL_OK)
    fail("brimful_pool_new");
  for (;;) {
    int events = epoll_wait(loop, ready, sizeof ready / sizeof *ready, -1);
    if (events < 0 && errno != EINTR)
      fail("epoll_wait");
    for (int i = 0; i < events; i++)
      ready[i].data.ptr == NULL ? welcome(loop, listener, pool, &options) : serve(ready[i].data.ptr);
  }
}
