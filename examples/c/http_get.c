/*
 * A small HTTP/1.1 client that never blocks in a read: http_get URL [--limit N] [--exact]
 *
 * Reads the body of http://HOST:PORT/PATH, with a Content-Length or until the connection closes, into a pooled buffer (or
 * an exact one) and prints a line of JSON about it. The collector is told what the response's head says, so a body that
 * is cut short is `short`, and one announced above the limit is refused unread. Then the same URL is read again in the
 * usual way, into memory that realloc doubles.
 */
#include <brimful.h>

#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct url {
  char host[256];
  char port[8];
  const char *path;
};

/* A response whose head has been read, and the bytes of its body that came with the head. */
struct response {
  int socket;
  uint64_t length; /* BRIMFUL_UNKNOWN: until the connection closes */
  char head[16384];
  const char *early;
  size_t early_length;
};

static void fail(const char *what, const char *why)
{
  fprintf(stderr, "http_get: %s: %s\n", what, why);
  exit(2);
}

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void wait_for(int socket, short events)
{
  struct pollfd poll_for = { socket, events, 0 };
  int ready;
  while ((ready = poll(&poll_for, 1, 60000)) < 0 && errno == EINTR)
    ;
  if (ready <= 0)
    fail("poll", ready == 0 ? "nothing for a minute" : strerror(errno));
}

static struct url parse_url(const char *text)
{
  struct url url;
  int host_length = 0, used = 0;
  if (sscanf(text, "http://%255[^:/]%n:%7[0-9]%n", url.host, &host_length, url.port, &used) < 1)
    fail(text, "expected http://HOST:PORT/PATH");
  if (used == 0) {
    strcpy(url.port, "80");
    used = host_length;
  }
  url.path = text[used] == '\0' ? "/" : text + used;
  if (url.path[0] != '/')
    fail(text, "expected http://HOST:PORT/PATH");
  return url;
}

/* A connected socket that does not block. */
static int connect_to(const struct url *url)
{
  struct addrinfo hints, *address;
  int error, made;
  socklen_t size = sizeof error;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if ((error = getaddrinfo(url->host, url->port, &hints, &address)) != 0)
    fail(url->host, gai_strerror(error));
  made = socket(address->ai_family, SOCK_STREAM, 0);
  if (made < 0 || fcntl(made, F_SETFL, O_NONBLOCK) != 0)
    fail("socket", strerror(errno));
  if (connect(made, address->ai_addr, address->ai_addrlen) != 0) {
    if (errno != EINPROGRESS)
      fail(url->host, strerror(errno));
    wait_for(made, POLLOUT);
    if (getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      fail(url->host, strerror(error));
  }
  freeaddrinfo(address);
  return made;
}

static void send_request(int socket, const struct url *url)
{
  char request[4096];
  int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", url->path,
                        url->host, url->port);
  if (length >= (int)sizeof request)
    fail(url->path, "too long");
  for (int sent = 0; sent < length;) {
    ssize_t count = send(socket, request + sent, (size_t)(length - sent), MSG_NOSIGNAL);
    if (count >= 0)
      sent += (int)count;
    else if (errno == EAGAIN)
      wait_for(socket, POLLOUT);
    else if (errno != EINTR)
      fail("send", strerror(errno));
  }
}

/* The value of a header field, up to the end of its line; NULL where it is not there. */
static const char *field(const char *head, const char *name)
{
  size_t length = strlen(name);
  for (const char *line = strchr(head, '\n'); line != NULL; line = strchr(line + 1, '\n')) {
    if (strncasecmp(line + 1, name, length) == 0 && line[1 + length] == ':')
      return line + 1 + length + 1 + strspn(line + 1 + length + 1, " \t");
  }
  return NULL;
}

/* Sends the request and reads the head of the response. */
static void get(const struct url *url, struct response *response)
{
  size_t have = 0;
  char *end = NULL;
  response->socket = connect_to(url);
  send_request(response->socket, url);
  while (end == NULL) {
    ssize_t count = recv(response->socket, response->head + have, sizeof response->head - 1 - have, 0);
    if (count < 0 && errno == EAGAIN)
      wait_for(response->socket, POLLIN);
    else if (count <= 0 && errno != EINTR)
      fail("the response's head", count == 0 ? "is cut short, or longer than 16 KiB" : strerror(errno));
    if (count <= 0)
      continue;
    have += (size_t)count;
    response->head[have] = '\0';
    end = strstr(response->head, "\r\n\r\n");
  }
  *end = '\0';
  response->early = end + 4;
  response->early_length = have - (size_t)(response->early - response->head);
  if (strncmp(response->head, "HTTP/1.1 200 ", 13) != 0 && strncmp(response->head, "HTTP/1.0 200 ", 13) != 0)
    fail(url->path, response->head);
  if (field(response->head, "Transfer-Encoding") != NULL)
    fail(url->path, "this client speaks no transfer encoding");
  const char *length = field(response->head, "Content-Length");
  errno = 0;
  response->length = length == NULL ? BRIMFUL_UNKNOWN : strtoull(length, NULL, 10);
  if (length != NULL && (errno != 0 || strspn(length, "0123456789") == 0))
    fail("Content-Length", length);
}

/* The source: what the socket has now. */
static brimful_status read_socket(void *context, void *window, size_t room, size_t *filled)
{
  ssize_t count = recv(*(int *)context, window, room, 0);
  if (count < 0)
    return errno == EAGAIN ? BRIMFUL_PENDING : errno == EINTR ? BRIMFUL_RETRY : -errno;
  *filled = (size_t)count;
  return BRIMFUL_OK;
}

/* Reads the body; waits in poll whenever the socket has nothing. */
static brimful_status collect(brimful_collector *collector, struct response *response)
{
  size_t taken;
  brimful_status status = BRIMFUL_OK;
  if (response->early_length > 0)
    status = brimful_collector_write(collector, response->early, response->early_length, &taken);
  if (status != BRIMFUL_OK)
    return status;
  while ((status = brimful_collector_read(collector, read_socket, &response->socket)) == BRIMFUL_PENDING)
    wait_for(response->socket, POLLIN);
  return status;
}

/* The usual way: memory that doubles whenever it is full. */
static double usual_seconds(const struct url *url)
{
  struct response response;
  double started;
  char *body;
  size_t size = 16384, have;
  get(url, &response);
  started = now();
  while (size < response.early_length)
    size *= 2;
  if ((body = malloc(size)) == NULL)
    fail("malloc", strerror(errno));
  have = response.early_length;
  memcpy(body, response.early, have);
  while (have < response.length) {
    if (have == size) {
      size *= 2;
      body = realloc(body, size);
      if (body == NULL)
        fail("realloc", strerror(errno));
    }
    ssize_t count = recv(response.socket, body + have, size - have, 0);
    if (count == 0)
      break;
    if (count > 0)
      have += (size_t)count;
    else if (errno == EAGAIN)
      wait_for(response.socket, POLLIN);
    else if (errno != EINTR)
      fail("recv", strerror(errno));
  }
  double seconds = now() - started;
  close(response.socket);
  free(body);
  return seconds;
}

static void print_line(brimful_status outcome, uint64_t bytes, struct sha256 *hash, const brimful_info *info,
                       double seconds, double usual)
{
  char text[65];
  sha256_end(hash, text);
  printf("{\"client\": \"poll\", \"outcome\": \"%s\", \"bytes\": %" PRIu64 ", \"sha256\": \"%s\", \"copied\": %" PRIu64
         ", \"allocations\": %" PRIu64 ", \"peak_held\": %" PRIu64 ", \"seconds\": %.9f, ",
         brimful_status_name(outcome), bytes, text, info->copied, info->allocations, info->peak_held, seconds);
  if (usual < 0)
    printf("\"usual_seconds\": null}\n");
  else
    printf("\"usual_seconds\": %.9f}\n", usual);
}

int main(int count, char **arguments)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_info info = { .struct_size = sizeof info };
  struct response response;
  brimful_collector *collector;
  brimful_status outcome;
  struct sha256 hash;
  struct url url;
  uint64_t bytes = 0;

  for (int i = 2; i < count; i++) {
    if (strcmp(arguments[i], "--limit") == 0 && i + 1 < count)
      options.limit = strtoull(arguments[++i], NULL, 10);
    else if (strcmp(arguments[i], "--exact") == 0)
      options.prefer = BRIMFUL_PREFER_EXACT;
    else
      fail(arguments[i], "expected --limit N or --exact");
  }
  if (count < 2)
    fail("usage", "http_get URL [--limit N] [--exact]");
  url = parse_url(arguments[1]);
  sha256_begin(&hash);

  get(&url, &response);
  double started = now();
  options.length = response.length;
  if (brimful_collector_new(NULL, &options, &collector) != BRIMFUL_OK)
    fail("brimful_collector_new", "no memory");
  outcome = collect(collector, &response);
  if (outcome == BRIMFUL_OK && options.prefer == BRIMFUL_PREFER_EXACT) {
    void *data;
    size_t length;
    outcome = brimful_collector_finish_exact(collector, &data, &length);
    started = now() - started;
    sha256_add(&hash, data, length);
    bytes = length;
    free(data);
  } else { /* complete, or what came before the error */
    brimful_buffer *buffer;
    brimful_slice slice;
    if (brimful_collector_take_partial(collector, &buffer) != BRIMFUL_OK)
      fail("brimful_collector_take_partial", "no memory");
    started = now() - started;
    for (size_t piece = 0; brimful_buffer_segments(buffer, piece, &slice, 1) == 1; piece++)
      sha256_add(&hash, slice.data, slice.length);
    bytes = brimful_buffer_length(buffer);
    brimful_buffer_release(buffer);
  }
  close(response.socket);
  if (brimful_collector_info(collector, &info) != BRIMFUL_OK)
    fail("brimful_collector_info", "failed");
  brimful_collector_free(collector);
  print_line(outcome, bytes, &hash, &info, started, outcome == BRIMFUL_OK ? usual_seconds(&url) : -1);
  return 0;
}
