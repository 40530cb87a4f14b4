/*
 * Reads one URL again and again with one libcurl handle, so over one connection, in one of these ways:
 *
 *     curl       the bytes are dropped: what libcurl and the network cost alone
 *     realloc    as libcurl's own example getinmemory.c does it, in our words: a realloc to the new length and one byte, and
 *                a memcpy, for each piece
 *     pooled, exact    by examples/c/curl_body.c, into a buffer of the pool, or into memory of exactly its length
 *
 *     client WAY URL BODIES WARM    BODIES bodies after WARM others; prints ns of one (median), resident memory in bytes
 *                                   beyond the start at its most; and, with the counting library, of the last body:
 *                                   allocations, bytes allocated, most bytes held, bytes copied
 */
#define _GNU_SOURCE
#include "../c/counts.h"
#include "curl_body.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD 251

void counts_begin(void) __attribute__((weak));
void counts_end(struct counts *out) __attribute__((weak));

static CURL *easy;
static struct curl_body body;
static size_t received;
static int checking;

static void must(int fine, const char *what)
{
  if (!fine) {
    fprintf(stderr, "bench-curl: %s\n", what);
    exit(1);
  }
}

static void show(const void *data, size_t length)
{
  __asm__ volatile("" : : "r"(data), "r"(length) : "memory");
  for (size_t i = 0; checking && i < length; i++)
    must(((const unsigned char *)data)[i] == i % PERIOD, "wrong bytes");
  received = length;
}

/* ---- the ways */

static size_t drop(char *data, size_t size, size_t count, void *context)
{
  (void)context;
  __asm__ volatile("" : : "r"(data) : "memory");
  received += size * count;
  return size * count;
}

static void by_dropping(void)
{
  must(curl_easy_perform(easy) == CURLE_OK, "curl_easy_perform");
}

struct memory {
  char *data;
  size_t length;
};

static size_t append(char *data, size_t size, size_t count, void *context)
{
  struct memory *memory = context;
  char *grown = realloc(memory->data, memory->length + size * count + 1);
  if (grown == NULL)
    return 0;
  memory->data = grown;
  memcpy(grown + memory->length, data, size * count);
  memory->length += size * count;
  grown[memory->length] = 0;
  return size * count;
}

static struct memory memory;

static void by_realloc(void)
{
  memory.data = malloc(1);
  memory.length = 0;
  must(memory.data != NULL && curl_easy_perform(easy) == CURLE_OK, "curl_easy_perform");
  show(memory.data, memory.length);
  free(memory.data);
}

static void pooled(void)
{
  brimful_buffer *buffer;
  const void *data;
  size_t length;
  must(curl_body_end(&body, curl_easy_perform(easy)) == BRIMFUL_OK
       && brimful_collector_finish(body.collector, &buffer) == BRIMFUL_OK
       && brimful_buffer_data(buffer, &data, &length) == BRIMFUL_OK, "no body");
  show(data, length);
  brimful_buffer_release(buffer);
}

static void exact(void)
{
  void *data;
  size_t length;
  must(curl_body_end(&body, curl_easy_perform(easy)) == BRIMFUL_OK
       && brimful_collector_finish_exact(body.collector, &data, &length) == BRIMFUL_OK, "no body");
  show(data, length);
  free(data);
}

static const struct way {
  const char *name;
  void (*read)(void);
} ways[] = { { "curl", by_dropping }, { "realloc", by_realloc }, { "pooled", pooled }, { "exact", exact } };

/* ---- what is measured */

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static long resident(const char *name)
{
  char line[256];
  long kilobytes = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0)
      kilobytes = atol(line + strlen(name));
  }
  must(kilobytes >= 0, "/proc/self/status");
  fclose(status);
  return kilobytes * 1024;
}

static int ascending(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int count, char **arguments)
{
  const struct way *way = ways;
  struct counts counts = { 0, 0, 0, 0 };
  char small[256];
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  must(count == 5, "client WAY URL BODIES WARM");
  while (strcmp(way->name, arguments[1]) != 0)
    must(++way < ways + sizeof ways / sizeof *ways, "no such way");
  int bodies = atoi(arguments[3]), warm = atoi(arguments[4]);
  double *times = malloc((size_t)bodies * sizeof *times);
  size_t expected = strtoull(strrchr(arguments[2], '/') + 1, NULL, 10);
  must(times != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && (easy = curl_easy_init()) != NULL, "no memory");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  /* The connection and libcurl's own buffers are part of the start. */
  snprintf(small, sizeof small, "%.*s/1", (int)(strrchr(arguments[2], '/') - arguments[2]), arguments[2]);
  curl_easy_setopt(easy, CURLOPT_URL, small);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
  by_dropping();
  curl_easy_setopt(easy, CURLOPT_URL, arguments[2]);
  if (way->read == by_realloc) {
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &memory);
  } else if (way->read != by_dropping) {
    options.prefer = way->read == exact ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
    must(curl_body_open(&body, easy, NULL, &options) == BRIMFUL_OK, "no memory");
  }
  long start = resident("VmRSS:");
  for (int i = -warm; i < bodies; i++) {
    received = 0;
    if (counts_begin != NULL)
      counts_begin();
    double began = now();
    way->read();
    double took = now() - began;
    if (counts_end != NULL)
      counts_end(&counts);
    must(received == expected, "a body of another length");
    if (i >= 0)
      times[i] = took;
  }
  long most = resident("VmHWM:") - start;
  checking = 1; /* not while it is measured */
  if (way->read != by_dropping)
    way->read();
  qsort(times, (size_t)bodies, sizeof *times, ascending);
  printf("%.0f %ld %llu %llu %llu %llu\n", times[bodies / 2], most, (unsigned long long)counts.allocations,
         (unsigned long long)counts.allocated, (unsigned long long)counts.peak, (unsigned long long)counts.copied);
  return 0;
}
