/*
 * libcurl reading a body into memory, from an HTTP server on another thread, over loopback. By realloc in the write
 * callback, as its own example does (https://curl.se/libcurl/c/getinmemory.html), and by brimful in the same callback.
 * One handle for all bodies, so one connection, and a larger receive buffer than the default (CURLOPT_BUFFERSIZE(3));
 * the callback is given at most 16 KiB all the same.
 */
#define _GNU_SOURCE
#include "job.h"

#include <brimful.h>
#include <curl/curl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVE_BUFFER (256L << 10)

static void must(int fine, const char *what)
{
  if (!fine)
    give_up(what);
}

/* ---- the server: every request is answered with one body, and the connection stays open */

struct server {
  int listener;
  size_t n;
};

static int send_all(int fd, const void *data, size_t length)
{
  for (size_t at = 0; at < length;) {
    ssize_t count = write(fd, (const char *)data + at, length - at);
    if (count <= 0)
      return 0;
    at += (size_t)count;
  }
  return 1;
}

static int send_body(int fd, size_t n)
{
  char head[128];
  int length = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
  int fine = send_all(fd, head, (size_t)length);
  for (size_t at = 0; at < n && fine;) {
    size_t piece = n - at < WARM_BLOCK ? n - at : WARM_BLOCK;
    fine = send_all(fd, source_block + at % PERIOD, piece);
    at += piece;
  }
  return fine;
}

static void *serve(void *argument)
{
  const struct server *server = argument;
  for (;;) {
    char request[4096];
    size_t have = 0;
    ssize_t count;
    int fd = accept(server->listener, NULL, NULL), yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* heads and bodies are written apart */
    while ((count = read(fd, request + have, sizeof request - 1 - have)) > 0) {
      have += (size_t)count;
      request[have] = 0;
      if (strstr(request, "\r\n\r\n") == NULL)
        continue; /* one request at a time comes on a connection */
      have = 0;
      if (!send_body(fd, server->n))
        break;
    }
    close(fd);
  }
  return NULL;
}

/* ---- what a row holds: the handle, and the body as it comes */

struct client {
  struct server server;
  CURL *curl;
  brimful_pool *pool;
  brimful_collector *collector; /* begun by the first piece, when the headers are known */
  char *memory;
  size_t have;
  struct job *job;
  uint32_t prefer;
};

static void begin(struct job *job)
{
  struct client *client = calloc(1, sizeof *client);
  struct sockaddr_in address = { .sin_family = AF_INET };
  socklen_t size = sizeof address;
  pthread_t thread;
  char url[64];
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  signal(SIGPIPE, SIG_IGN);
  must(client != NULL, "no memory");
  client->server.n = job->n;
  client->server.listener = socket(AF_INET, SOCK_STREAM, 0);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  must(bind(client->server.listener, (struct sockaddr *)&address, size) == 0 && listen(client->server.listener, 4) == 0
       && getsockname(client->server.listener, (struct sockaddr *)&address, &size) == 0, "no listener on loopback");
  must(pthread_create(&thread, NULL, serve, &client->server) == 0, "no thread");
  options.max_retained = (uint64_t)256 << 20;
  must(brimful_pool_new(&options, &client->pool) == BRIMFUL_OK, "no pool");
  curl_global_init(CURL_GLOBAL_DEFAULT);
  client->curl = curl_easy_init();
  snprintf(url, sizeof url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
  must(curl_easy_setopt(client->curl, CURLOPT_URL, url) == CURLE_OK
       && curl_easy_setopt(client->curl, CURLOPT_PROXY, "") == CURLE_OK
       && curl_easy_setopt(client->curl, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER) == CURLE_OK, "curl_easy_setopt failed");
  job->own = client;
}

static struct client *perform(struct job *job, curl_write_callback write_piece)
{
  struct client *client = job->own;
  CURLcode code;
  client->job = job;
  client->have = 0;
  curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, write_piece);
  curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, client);
  code = curl_easy_perform(client->curl);
  if (code != CURLE_OK)
    give_up(curl_easy_strerror(code));
  return client;
}

/* ---- the limit: libcurl and the network alone */

static size_t drop(char *data, size_t size, size_t count, void *context)
{
  struct client *client = context;
  show(client->job, data, size * count);
  return size * count;
}

static void dropped(struct job *job)
{
  perform(job, drop);
}

/* ---- getinmemory.c, in our words: a realloc to the new length and one byte for each piece */

static size_t append(char *data, size_t size, size_t count, void *context)
{
  struct client *client = context;
  char *memory = realloc(client->memory, client->have + size * count + 1);
  if (memory == NULL)
    return 0;
  client->memory = memory;
  memcpy(memory + client->have, data, size * count);
  client->have += size * count;
  memory[client->have] = 0;
  return size * count;
}

static void by_realloc(struct job *job)
{
  struct client *client = job->own;
  client->memory = malloc(1);
  must(client->memory != NULL, "no memory");
  perform(job, append);
  show(job, client->memory, client->have);
  free(client->memory);
}

/* ---- brimful: each piece is written into a collector */

static size_t collect(char *data, size_t size, size_t count, void *context)
{
  struct client *client = context;
  if (client->collector == NULL) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    curl_off_t length = -1;
    options.prefer = client->prefer;
    if (client->job->length != NOT_KNOWN
        && curl_easy_getinfo(client->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) == CURLE_OK && length >= 0)
      options.length = (uint64_t)length;
    if (brimful_collector_new(client->pool, &options, &client->collector) != BRIMFUL_OK)
      return 0;
  }
  return brimful_collector_write(client->collector, data, size * count, NULL) == BRIMFUL_OK ? size * count : 0;
}

static struct client *collected(struct job *job, uint32_t prefer)
{
  struct client *client = job->own;
  client->prefer = prefer;
  perform(job, collect);
  must(client->collector != NULL && brimful_collector_end(client->collector) == BRIMFUL_OK, "a body is not complete");
  return client;
}

static void pooled(struct job *job)
{
  struct client *client = collected(job, BRIMFUL_PREFER_POOLED);
  brimful_buffer *buffer;
  const void *data;
  size_t length;
  must(brimful_collector_finish(client->collector, &buffer) == BRIMFUL_OK
       && brimful_buffer_data(buffer, &data, &length) == BRIMFUL_OK, "no result");
  show(job, data, length);
  brimful_buffer_release(buffer);
  brimful_collector_free(client->collector);
  client->collector = NULL;
}

static void exact(struct job *job)
{
  struct client *client = collected(job, BRIMFUL_PREFER_EXACT);
  void *data;
  size_t length;
  must(brimful_collector_finish_exact(client->collector, &data, &length) == BRIMFUL_OK, "no result");
  show(job, data, length);
  free(data);
  brimful_collector_free(client->collector);
  client->collector = NULL;
}

const struct row rows[] = {
  { "curl-limit", dropped, begin, NULL, NULL },
  { "curl-realloc", by_realloc, begin, NULL, NULL },
  { "curl-pooled", pooled, begin, NULL, NULL },
  { "curl-exact", exact, begin, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
