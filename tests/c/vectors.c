/*
 * Runs the conformance vectors of a folder through the C interface: vectors DIR. Each case in every drive (pull by a
 * collector, pull by the one-shot calls, push, window), with every result, in both kinds of memory.
 */
#include "source.h"
#include "vector.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One way of running a case, and what came of it. */
struct run {
  const struct vector *vector;
  enum drive drive;
  enum result result;
  brimful_options options;
  brimful_pool *pool;
  size_t step;        /* of the source */
  uint64_t done;      /* bytes or times of that step */
  uint64_t given;
  uint64_t calls, asked, pendings;
  brimful_status status;
  uint64_t length, partial; /* ABSENT: there was none */
  brimful_info info;
  char problem[300];
};

static void problem(struct run *run, const char *format, ...)
{
  va_list values;
  if (run->problem[0] != '\0')
    return;
  va_start(values, format);
  vsnprintf(run->problem, sizeof run->problem, format, values);
  va_end(values);
}

/* Cancel is asked for as the call before it returns; as the first step, before the first call. */
static void cancel_if_next(struct run *run)
{
  while (run->step < run->vector->step_count && run->vector->steps[run->step].kind == CANCEL) {
    brimful_cancel_trigger(run->options.cancel);
    run->step++;
  }
}

static void next_step(struct run *run)
{
  run->step++;
  run->done = 0;
  cancel_if_next(run);
}

static brimful_status read_script(void *context, void *window, size_t room, size_t *filled)
{
  struct run *run = context;
  const struct step *step = &run->vector->steps[run->step];
  run->calls++;
  run->asked += room;
  if (run->step == run->vector->step_count || step->kind == END)
    return BRIMFUL_OK;
  if (step->kind == OVER) {
    *filled = step->count > SIZE_MAX - room ? SIZE_MAX : room + (size_t)step->count;
    next_step(run);
    return BRIMFUL_OK;
  }
  if (step->kind == ANSWER) {
    if (++run->done >= step->count)
      next_step(run);
    return step->then;
  }
  uint64_t count = step->count - run->done;
  count = count < step->each ? count : step->each;
  count = count < room ? count : room;
  paint(window, run->given, (size_t)count);
  *filled = (size_t)count;
  run->given += count;
  run->done += count;
  if (run->done < step->count)
    return BRIMFUL_OK;
  next_step(run);
  return step->then;
}

/* ---- the drives: each ends with the body complete (OK) or an error */

static brimful_status pull(struct run *run, brimful_collector *collector)
{
  brimful_status status;
  while ((status = brimful_collector_read(collector, read_script, run)) == BRIMFUL_PENDING)
    run->pendings++;
  return status;
}

static brimful_status push(struct run *run, brimful_collector *collector, const struct step *step)
{
  uint64_t most = step->each < step->count ? step->each : step->count;
  char *piece = malloc((size_t)most + 1);
  brimful_status status = BRIMFUL_OK;
  for (uint64_t left = step->count; left > 0 && status == BRIMFUL_OK;) {
    uint64_t length = most < left ? most : left;
    if ((status = brimful_collector_is_complete(collector)) != 0)
      break;
    paint(piece, run->given, (size_t)length);
    status = brimful_collector_write(collector, piece, (size_t)length, NULL);
    run->given += length;
    left -= length;
  }
  free(piece);
  return status < 0 ? status : BRIMFUL_OK;
}

static brimful_status fill_windows(struct run *run, brimful_collector *collector, const struct step *step)
{
  brimful_status status = BRIMFUL_OK;
  for (uint64_t left = step->count; left > 0 && status == BRIMFUL_OK;) {
    void *window;
    size_t room;
    if ((status = brimful_collector_is_complete(collector)) != 0)
      break;
    status = brimful_collector_reserve(collector, left > SIZE_MAX ? SIZE_MAX : (size_t)left, &window, &room);
    if (status != BRIMFUL_OK)
      break;
    uint64_t count = room < left ? room : left;
    count = step->each < count ? step->each : count;
    paint(window, run->given, (size_t)count);
    status = brimful_collector_commit(collector, (size_t)count);
    run->given += count;
    left -= count;
  }
  return status < 0 ? status : BRIMFUL_OK;
}

static brimful_status drive(struct run *run, brimful_collector *collector)
{
  if (run->drive == PULL || run->drive == ONE_SHOT)
    return pull(run, collector);
  for (size_t i = 0; i < run->vector->step_count && run->vector->steps[i].kind != END; i++) {
    const struct step *step = &run->vector->steps[i];
    brimful_status status = BRIMFUL_OK;
    if (step->kind == CANCEL)
      brimful_cancel_trigger(run->options.cancel);
    if (step->kind == GIVE)
      status = run->drive == PUSH ? push(run, collector, step) : fill_windows(run, collector, step);
    if (status != BRIMFUL_OK)
      return status;
  }
  return brimful_collector_end(collector);
}

/* ---- what came of it */

static void check_buffer(struct run *run, brimful_buffer *buffer, const char *what)
{
  if (!buffer_is_painted(buffer, brimful_buffer_length(buffer)))
    problem(run, "%s: its bytes are not those of the source", what);
}

static void check_exact(struct run *run, void *data, size_t length)
{
  if (data == NULL || !is_painted(data, 0, length))
    problem(run, "the exact result: its bytes are not those of the source");
  run->length = length;
  free(data);
}

/* Takes the result of a complete body, or what came of one that failed. */
static void take(struct run *run, brimful_collector *collector)
{
  brimful_buffer *buffer = NULL;
  brimful_status status;
  if (run->status != BRIMFUL_OK) {
    run->info = info_of(collector);
    status = brimful_collector_take_partial(collector, &buffer);
    if (status != BRIMFUL_OK)
      problem(run, "take_partial: %s", brimful_status_name(status));
    check_buffer(run, buffer, "the partial");
    run->partial = brimful_buffer_length(buffer);
  } else if (run->result == EXACT) {
    void *data;
    size_t length;
    status = brimful_collector_finish_exact(collector, &data, &length);
    if (status != BRIMFUL_OK)
      problem(run, "finish_exact: %s", brimful_status_name(status));
    check_exact(run, data, length);
    run->info = info_of(collector);
  } else {
    status = brimful_collector_finish(collector, &buffer);
    if (status != BRIMFUL_OK)
      problem(run, "finish: %s", brimful_status_name(status));
    brimful_buffer_info(buffer, &run->info);
    run->length = brimful_buffer_length(buffer);
    if (brimful_buffer_truncated(buffer) != run->info.truncated)
      problem(run, "the buffer and its info differ about truncated");
    check_buffer(run, buffer, "the pooled result");
  }
  brimful_buffer_release(buffer);
}

/* The one-shot calls, which hand the collector out when they do not end well. */
static void run_one_shot(struct run *run)
{
  brimful_collector *rest = NULL;
  brimful_buffer *buffer = NULL;
  void *data = NULL;
  size_t length = 0;
  run->options.info = &run->info;
  if (run->result == EXACT)
    run->status = brimful_collect_exact(run->pool, &run->options, read_script, run, &data, &length, &rest);
  else
    run->status = brimful_collect(run->pool, &run->options, read_script, run, &buffer, &rest);
  if (run->info.status != run->status)
    problem(run, "info.status is %s, the call's %s", brimful_status_name(run->info.status),
            brimful_status_name(run->status));
  if (run->status == BRIMFUL_OK && run->result == EXACT) {
    check_exact(run, data, length);
  } else if (run->status == BRIMFUL_OK) {
    check_buffer(run, buffer, "the pooled result");
    run->length = brimful_buffer_length(buffer);
  } else if (rest != NULL) {
    if (run->status == BRIMFUL_PENDING) {
      run->pendings++;
      run->status = pull(run, rest);
    }
    take(run, rest);
  } else if (run->status != BRIMFUL_ERR_INVALID) {
    problem(run, "%s, and no collector was handed out", brimful_status_name(run->status));
  }
  brimful_buffer_release(buffer);
  brimful_collector_free(rest);
}

static void run_collector(struct run *run)
{
  brimful_collector *collector;
  run->status = brimful_collector_new(run->pool, &run->options, &collector);
  if (run->status != BRIMFUL_OK)
    return;
  run->status = drive(run, collector);
  take(run, collector);
  brimful_collector_free(collector);
}

static void same(struct run *run, const char *what, uint64_t expected, uint64_t came)
{
  if (expected == ABSENT || expected == came)
    return;
  if (came == ABSENT)
    problem(run, "%s: expected %" PRIu64 ", came none", what, expected);
  else
    problem(run, "%s: expected %" PRIu64 ", came %" PRIu64, what, expected, came);
}

static void at_most(struct run *run, const char *what, uint64_t most, uint64_t came)
{
  if (most != ABSENT && came > most)
    problem(run, "%s: expected at most %" PRIu64 ", came %" PRIu64, what, most, came);
}

static void compare(struct run *run)
{
  const struct vector *vector = run->vector;
  if (strcmp(brimful_status_name(run->status), vector->status) != 0)
    problem(run, "status: expected %s, came %s", vector->status, brimful_status_name(run->status));
  same(run, "length", vector->length, run->length);
  same(run, "partial", vector->partial, run->partial);
  same(run, "received", vector->received, run->info.received);
  if (vector->min_received != ABSENT && run->info.received < vector->min_received)
    problem(run, "received: expected at least %" PRIu64 ", came %" PRIu64, vector->min_received, run->info.received);
  if (vector->has_source_error && run->info.source_error != vector->source_error)
    problem(run, "source_error: expected %" PRId32 ", came %" PRId32, vector->source_error, run->info.source_error);
  if (vector->has_truncated && run->info.truncated != vector->truncated)
    problem(run, "truncated: expected %d, came %d", vector->truncated, run->info.truncated);
  at_most(run, "copied", vector->max_copied[run->result], run->info.copied);
  at_most(run, "allocated", vector->max_allocated[run->result], run->info.allocated_bytes);
  if (run->drive != PULL && run->drive != ONE_SHOT)
    return;
  same(run, "pendings", vector->pendings, run->pendings);
  at_most(run, "calls", vector->max_calls, run->calls);
  at_most(run, "asked", vector->max_asked, run->asked);
}

/* Whether this way of running the case holds; prints what does not. */
static int holds(const struct vector *vector, enum drive drive, enum result result, uint32_t memory)
{
  static const char *const drives[] = { "pull", "one-shot pull", "push", "window" };
  struct run run;
  memset(&run, 0, sizeof run);
  run.vector = vector;
  run.drive = drive;
  run.result = result;
  run.options = vector->options;
  run.options.prefer = result == EXACT ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  run.length = run.partial = ABSENT;
  run.info.struct_size = sizeof run.info;
  run.pool = new_pool(memory);
  if (run.pool == NULL || brimful_cancel_new(&run.options.cancel) != BRIMFUL_OK) {
    problem(&run, "no memory for a pool and a cancel object");
  } else {
    cancel_if_next(&run);
    if (drive == ONE_SHOT)
      run_one_shot(&run);
    else
      run_collector(&run);
    compare(&run);
  }
  brimful_cancel_release(run.options.cancel);
  brimful_pool_release(run.pool);
  if (run.problem[0] == '\0')
    return 1;
  printf("%s: %s, %s, %s memory: %s\n", vector->name, drives[drive], result == EXACT ? "exact" : "pooled",
         memory == 0 ? "default" : "list", run.problem);
  return 0;
}

static int holds_every_way(const struct vector *vector)
{
  for (enum drive drive = PULL; drive < DRIVES; drive++) {
    for (enum result result = POOLED; result < RESULTS; result++) {
      for (uint32_t memory = 0; memory <= BRIMFUL_POOL_LIST; memory++) {
        if (vector->drives[drive] && vector->results[result] && !holds(vector, drive, result, memory))
          return 0;
      }
    }
  }
  return 1;
}

static char *read_file(const char *path)
{
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
    long size = ftell(file);
    rewind(file);
    text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
    if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
      free(text);
      text = NULL;
    }
  }
  if (file != NULL)
    fclose(file);
  return text;
}

/* Runs one file's cases. */
static void run_file(const char *path, unsigned *passed, unsigned *failed)
{
  static struct vector vector;
  char what[300];
  char *text = read_file(path);
  struct json *cases = text == NULL ? NULL : json_read(text, what, sizeof what);
  if (cases == NULL || cases->kind != JSON_ARRAY) {
    printf("%s: %s\n", path, text == NULL ? strerror(errno) : cases == NULL ? what : "expected an array of cases");
    ++*failed;
  } else {
    for (const struct json *json = cases->first; json != NULL; json = json->next) {
      int held = vector_read(json, &vector, what, sizeof what);
      if (!held)
        printf("%s: %s\n", vector.name, what);
      else
        held = holds_every_way(&vector);
      *passed += held != 0;
      *failed += held == 0;
    }
  }
  json_free(cases);
  free(text);
}

static int is_json(const struct dirent *entry)
{
  size_t length = strlen(entry->d_name);
  return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

int main(int count, char **arguments)
{
  struct dirent **entries;
  unsigned passed = 0, failed = 0;
  int files;
  if (count != 2) {
    fprintf(stderr, "usage: vectors DIR\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  files = scandir(arguments[1], &entries, is_json, alphasort);
  if (files <= 0) {
    fprintf(stderr, "%s: %s\n", arguments[1], files < 0 ? strerror(errno) : "no *.json in it");
    return 2;
  }
  for (int i = 0; i < files; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", arguments[1], entries[i]->d_name);
    run_file(path, &passed, &failed);
    free(entries[i]);
  }
  free(entries);
  printf("c: %u passed, %u failed\n", passed, failed);
  return failed > 0 || passed == 0;
}
