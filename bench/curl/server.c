/*
 * A fast HTTP/1.1 server on loopback, so that what is measured is the client: prints its port and serves until it is killed.
 * GET /length/N sends N bytes with a Content-Length, GET /chunked/N in chunks of 64 KiB; the connection stays open. The
 * bytes come from one warm block.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define CHUNK 65536
#define PERIOD 251

static char block[CHUNK + PERIOD];

static int send_all(int socket, struct iovec *pieces, int count)
{
  while (count > 0) {
    ssize_t sent = writev(socket, pieces, count);
    if (sent <= 0)
      return 0;
    for (; count > 0 && (size_t)sent >= pieces->iov_len; pieces++, count--)
      sent -= (ssize_t)pieces->iov_len;
    if (count > 0) {
      pieces->iov_base = (char *)pieces->iov_base + sent;
      pieces->iov_len -= (size_t)sent;
    }
  }
  return 1;
}

static int send_body(int socket, size_t size, int chunked)
{
  char head[128], frame[32];
  int length = chunked ? snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                       : snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
  size_t at = 0;
  int fine = 1;
  do { /* the head goes with the first piece, the last chunk with the last one */
    size_t piece = size - at < CHUNK ? size - at : CHUNK;
    struct iovec pieces[5] = { { head, at == 0 ? (size_t)length : 0 },
                               { frame, chunked && piece > 0 ? (size_t)snprintf(frame, sizeof frame, "%zx\r\n", piece) : 0 },
                               { block + at % PERIOD, piece },
                               { (char *)"\r\n", chunked && piece > 0 ? 2 : 0 },
                               { (char *)"0\r\n\r\n", chunked && at + piece == size ? 5 : 0 } };
    fine = send_all(socket, pieces, 5);
    at += piece;
  } while (fine && at < size);
  return fine;
}

static void *serve(void *context)
{
  int socket = (int)(intptr_t)context, yes = 1;
  char request[4096];
  size_t have = 0;
  ssize_t count;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  while ((count = read(socket, request + have, sizeof request - 1 - have)) > 0) {
    char way[16];
    size_t size;
    have += (size_t)count;
    request[have] = 0;
    if (strstr(request, "\r\n\r\n") == NULL)
      continue; /* one request at a time comes on a connection */
    have = 0;
    if (sscanf(request, "GET /%15[a-z]/%zu ", way, &size) != 2 || !send_body(socket, size, way[0] == 'c'))
      break;
  }
  close(socket);
  return NULL;
}

int main(void)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < sizeof block; i++)
    block[i] = (char)(i % PERIOD);
  if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 16) != 0
      || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    return 1;
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    pthread_t thread;
    int socket = accept(listener, NULL, NULL);
    if (socket < 0 || pthread_create(&thread, NULL, serve, (void *)(intptr_t)socket) != 0)
      return 1;
    pthread_detach(thread);
  }
}
