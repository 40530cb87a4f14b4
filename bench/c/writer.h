/* The other end of a pipe, a Unix socket or a TCP connection on loopback: a thread that writes one body to each. */
#ifndef BENCH_WRITER_H
#define BENCH_WRITER_H

#include <stddef.h>

struct writer;

/* kind is "pipe", "unix", "tcp" or "file"; path is where the file is to lie. */
struct writer *writer_new(const char *kind, const char *path, size_t n);

/* A descriptor to read the next body from; nothing is written yet (a file is there already). */
int writer_open(struct writer *writer);

/* Lets the thread write the body and close its end. */
void writer_go(struct writer *writer);

/* Closes the reader's end, and waits for the writer. */
void writer_close(struct writer *writer);

#endif
