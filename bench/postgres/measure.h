/* What the readers of this folder have in common: their arguments, and what they print at the end. */
#ifndef MEASURE_H
#define MEASURE_H

#include "../../examples/c/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/*
 * PORT USER DATABASE HOW QUERY [TIMES]
 *
 * Without TIMES each value is printed as a line of JSON with its hash. With it the query is made once, and then TIMES
 * times more, and a line is printed: the time of the first, that of one of the others, the peak of the memory.
 */
struct measure {
  const char *port, *user, *database, *how, *query;
  long times;
  uint64_t bytes; /* of all values; what was read last is the same each time */
  double began, processor, first;
};

static inline void measure_fail(const char *what, const char *why)
{
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static inline struct measure measure_arguments(int count, char **arguments)
{
  if (count < 6)
    measure_fail("usage", "PORT USER DATABASE HOW QUERY [TIMES]");
  return (struct measure){ .port = arguments[1], .user = arguments[2], .database = arguments[3], .how = arguments[4],
                           .query = arguments[5], .times = count > 6 ? atol(arguments[6]) : 0 };
}

static inline double measure_processor(void)
{
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static inline double measure_now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline void measure_begin(struct measure *measure)
{
  measure->processor = measure_processor();
  measure->began = measure_now();
}

/* A value that has been read, in one piece; `data` NULL is SQL's NULL. */
static inline void measure_value(struct measure *measure, uint64_t row, int column, const void *data, size_t length)
{
  struct sha256 hash;
  char hex[65];
  if (measure->times > 0) {
    measure->bytes += length;
    return;
  }
  if (data == NULL) {
    printf("{\"row\": %" PRIu64 ", \"column\": %d, \"status\": \"null\"}\n", row, column);
    return;
  }
  sha256_begin(&hash);
  sha256_add(&hash, data, length);
  sha256_end(&hash, hex);
  printf("{\"row\": %" PRIu64 ", \"column\": %d, \"status\": \"ok\"", row, column);
  printf(", \"length\": %zu, \"sha256\": \"%s\"}\n", length, hex);
}

/* The most that was resident; not ru_maxrss, in which what the process was before exec counts too. */
static inline long measure_peak(void)
{
  char line[256];
  long kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmHWM: %ld", &kilobytes) == 1)
      break;
  if (status != NULL)
    fclose(status);
  return kilobytes * 1024;
}

/* The first query has been read: the others are on the clock from here on. */
static inline void measure_first(struct measure *measure)
{
  measure->first = measure_now() - measure->began;
  measure_begin(measure);
}

/* `resident` is measure_peak() before the first query. */
static inline void measure_end(const struct measure *measure, long resident)
{
  double times = (double)measure->times;
  printf("{\"first\": %.9f, \"next\": %.9f, \"processor\": %.9f", measure->first,
         (measure_now() - measure->began) / times, (measure_processor() - measure->processor) / times);
  printf(", \"bytes\": %" PRIu64 ", \"peak\": %ld, \"before\": %ld}\n", measure->bytes / (uint64_t)(measure->times + 1),
         measure_peak(), resident);
}

#endif
