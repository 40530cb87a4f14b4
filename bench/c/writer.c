/* See writer.h. */
#define _GNU_SOURCE
#include "writer.h"
#include "job.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct writer {
  enum { PIPE, UNIX, TCP, WHOLE_FILE } kind;
  size_t n;
  int ends[2]; /* to read from, to write to */
  int listener;
  struct sockaddr_in address;
  pthread_barrier_t goes, gone;
};

static void write_body(int fd, size_t n)
{
  for (size_t at = 0; at < n;) {
    size_t piece = n - at < WARM_BLOCK ? n - at : WARM_BLOCK;
    ssize_t count = write(fd, source_block + at % PERIOD, piece);
    if (count <= 0)
      return; /* the reader has what it wanted */
    at += (size_t)count;
  }
}

static void *write_bodies(void *argument)
{
  struct writer *writer = argument;
  for (;;) {
    pthread_barrier_wait(&writer->goes);
    write_body(writer->ends[1], writer->n);
    close(writer->ends[1]);
    pthread_barrier_wait(&writer->gone);
  }
  return NULL;
}

struct writer *writer_new(const char *kind, const char *path, size_t n)
{
  struct writer *writer = calloc(1, sizeof *writer);
  pthread_t thread;
  signal(SIGPIPE, SIG_IGN);
  writer->n = n;
  writer->kind = strcmp(kind, "pipe") == 0 ? PIPE : strcmp(kind, "unix") == 0 ? UNIX
               : strcmp(kind, "tcp") == 0 ? TCP : WHOLE_FILE;
  if (writer->kind == WHOLE_FILE) {
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
      give_up("io=file needs a path that can be written");
    write_body(fd, n);
    writer->ends[0] = fd;
    unlink(path);
    return writer;
  }
  if (writer->kind == TCP) {
    socklen_t size = sizeof writer->address;
    writer->address.sin_family = AF_INET;
    writer->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    writer->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(writer->listener, (struct sockaddr *)&writer->address, size) != 0 || listen(writer->listener, 1) != 0
        || getsockname(writer->listener, (struct sockaddr *)&writer->address, &size) != 0)
      give_up("no listener on loopback");
  }
  pthread_barrier_init(&writer->goes, NULL, 2);
  pthread_barrier_init(&writer->gone, NULL, 2);
  pthread_create(&thread, NULL, write_bodies, writer);
  return writer;
}

int writer_open(struct writer *writer)
{
  int failed = 0;
  if (writer->kind == WHOLE_FILE) {
    lseek(writer->ends[0], 0, SEEK_SET);
  } else if (writer->kind == PIPE) {
    failed = pipe(writer->ends);
  } else if (writer->kind == UNIX) {
    failed = socketpair(AF_UNIX, SOCK_STREAM, 0, writer->ends);
  } else {
    writer->ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    failed = connect(writer->ends[1], (struct sockaddr *)&writer->address, sizeof writer->address);
    writer->ends[0] = accept(writer->listener, NULL, NULL);
    failed |= writer->ends[0] < 0;
  }
  if (failed)
    give_up("no connection");
  return writer->ends[0];
}

void writer_go(struct writer *writer)
{
  if (writer->kind != WHOLE_FILE)
    pthread_barrier_wait(&writer->goes);
}

void writer_close(struct writer *writer)
{
  if (writer->kind == WHOLE_FILE)
    return;
  close(writer->ends[0]);
  pthread_barrier_wait(&writer->gone);
}
