/* See vector.h. */
#include "vector.h"

#include "source.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct problem {
  char *text;
  size_t size;
};

static int refuse(struct problem *problem, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  vsnprintf(problem->text, problem->size, format, values);
  va_end(values);
  return 0;
}

static int is_one_of(const char *word, const char *const *list, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (strcmp(word, list[i]) == 0)
      return 1;
  }
  return 0;
}

/* Whether it is an object with no keys but these. */
static int has_only(const struct json *object, const char *const *keys, size_t count, struct problem *problem)
{
  if (object == NULL || object->kind != JSON_OBJECT)
    return refuse(problem, "expected an object");
  for (const struct json *member = object->first; member != NULL; member = member->next) {
    if (!is_one_of(member->key, keys, count))
      return refuse(problem, "unknown key %s", member->key);
  }
  return 1;
}

/* A number that may be missing; then *number stays as it is. */
static int optional_number(const struct json *object, const char *key, uint64_t *number, struct problem *problem)
{
  const struct json *value = json_member(object, key);
  if (value == NULL || json_unsigned(value, number))
    return 1;
  return refuse(problem, "%s must be a whole number", key);
}

/* The same for a size of brimful_options whose largest number means "none"; one less means the same as it does. */
static int optional_size(const struct json *object, const char *key, uint64_t *number, struct problem *problem)
{
  if (json_member(object, key) == NULL)
    return 1;
  if (!optional_number(object, key, number, problem))
    return 0;
  *number -= *number == UINT64_MAX;
  return 1;
}

static int optional_flag(const struct json *object, const char *key, int *flag, struct problem *problem)
{
  const struct json *value = json_member(object, key);
  if (value == NULL)
    return 1;
  if (value->kind != JSON_TRUE && value->kind != JSON_FALSE)
    return refuse(problem, "%s must be true or false", key);
  *flag = value->kind == JSON_TRUE;
  return 1;
}

static int own_error(const struct json *value, brimful_status *number, struct problem *problem)
{
  int64_t wide;
  if (!json_signed(value, &wide) || wide >= 0 || wide < INT32_MIN)
    return refuse(problem, "an error must be a negative number of 32 bits");
  *number = (brimful_status)wide;
  return 1;
}

static int read_options(const struct json *json, brimful_options *options, struct problem *problem)
{
  static const char *const keys[] = { "length", "end", "size_hint", "limit", "max_prealloc", "max_window", "truncate" };
  const struct json *end = json_member(json, "end");
  int truncate = 0;
  if (!has_only(json, keys, ARRAY_LENGTH(keys), problem) || !optional_size(json, "length", &options->length, problem) ||
      !optional_size(json, "size_hint", &options->size_hint, problem) ||
      !optional_size(json, "limit", &options->limit, problem) ||
      !optional_number(json, "max_prealloc", &options->max_prealloc, problem) ||
      !optional_number(json, "max_window", &options->max_window, problem) ||
      !optional_flag(json, "truncate", &truncate, problem))
    return 0;
  if (json_member(json, "max_prealloc") != NULL && options->max_prealloc == 0)
    options->max_prealloc = 1; /* 0 is the default in C, and 1 byte announces as little as none */
  options->flags = truncate ? BRIMFUL_TRUNCATE : 0;
  if (end != NULL && (end->kind != JSON_STRING || (strcmp(end->text, "eof") != 0 && strcmp(end->text, "length") != 0)))
    return refuse(problem, "end must be length or eof");
  if (end != NULL && strcmp(end->text, "eof") == 0)
    options->end = BRIMFUL_END_EOF;
  return 1;
}

static int read_give(const struct json *json, struct step *step, struct problem *problem)
{
  static const char *const keys[] = { "give", "each", "then" };
  const struct json *then = json_member(json, "then");
  step->kind = GIVE;
  step->each = UINT64_MAX;
  step->then = BRIMFUL_OK;
  if (!has_only(json, keys, ARRAY_LENGTH(keys), problem) || !optional_number(json, "give", &step->count, problem) ||
      !optional_number(json, "each", &step->each, problem))
    return 0;
  if (step->each == 0)
    return refuse(problem, "each must be above 0");
  if (then == NULL)
    return 1;
  if (then->kind == JSON_STRING && strcmp(then->text, "pend") == 0)
    step->then = BRIMFUL_PENDING;
  else if (then->kind == JSON_STRING && strcmp(then->text, "retry") == 0)
    step->then = BRIMFUL_RETRY;
  else
    return own_error(then, &step->then, problem);
  return 1;
}

static int read_step(const struct json *json, struct step *step, struct problem *problem)
{
  const struct json *only = json == NULL || json->kind != JSON_OBJECT ? NULL : json->first;
  memset(step, 0, sizeof *step);
  if (json_member(json, "give") != NULL)
    return read_give(json, step, problem);
  if (only == NULL || only->next != NULL)
    return refuse(problem, "a step has one key");
  step->kind = ANSWER;
  step->count = 1;
  if (strcmp(only->key, "error") == 0)
    return own_error(only, &step->then, problem);
  if (strcmp(only->key, "pend") == 0 || strcmp(only->key, "retry") == 0)
    step->then = only->key[0] == 'p' ? BRIMFUL_PENDING : BRIMFUL_RETRY;
  else if (strcmp(only->key, "over") == 0)
    step->kind = OVER;
  else if (strcmp(only->key, "cancel") == 0 || strcmp(only->key, "end") == 0) {
    step->kind = only->key[0] == 'c' ? CANCEL : END;
    return 1;
  } else
    return refuse(problem, "unknown step %s", only->key);
  return json_unsigned(only, &step->count) ? 1 : refuse(problem, "%s must be a whole number", only->key);
}

static int read_steps(const struct json *json, struct vector *vector, struct problem *problem)
{
  if (json == NULL || json->kind != JSON_ARRAY)
    return refuse(problem, "source must be an array");
  for (const struct json *step = json->first; step != NULL; step = step->next) {
    if (vector->step_count == MOST_STEPS)
      return refuse(problem, "more than %d steps", MOST_STEPS);
    if (!read_step(step, &vector->steps[vector->step_count], problem))
      return 0;
    vector->step_count++;
  }
  return 1;
}

/* A bound for both results, or one for each. */
static int read_bounds(const struct json *json, const char *key, uint64_t bounds[RESULTS], struct problem *problem)
{
  static const char *const keys[] = { "pooled", "exact" };
  const struct json *value = json_member(json, key);
  if (value == NULL)
    return 1;
  if (value->kind != JSON_OBJECT)
    return optional_number(json, key, &bounds[POOLED], problem) && optional_number(json, key, &bounds[EXACT], problem);
  return has_only(value, keys, ARRAY_LENGTH(keys), problem) &&
         optional_number(value, "pooled", &bounds[POOLED], problem) &&
         optional_number(value, "exact", &bounds[EXACT], problem);
}

static int read_expect(const struct json *json, struct vector *vector, struct problem *problem)
{
  static const char *const keys[] = { "status",  "length",    "partial",   "received",   "min_received", "source_error",
                                      "pendings", "truncated", "max_calls", "max_asked", "max_copied",   "max_allocated" };
  static const char *const statuses[] = { "ok",     "invalid",  "limit",       "short",    "long",
                                          "source", "contract", "no_progress", "cancelled" };
  const struct json *status = json_member(json, "status"), *error = json_member(json, "source_error");
  if (!has_only(json, keys, ARRAY_LENGTH(keys), problem) ||
      !optional_number(json, "length", &vector->length, problem) ||
      !optional_number(json, "partial", &vector->partial, problem) ||
      !optional_number(json, "received", &vector->received, problem) ||
      !optional_number(json, "min_received", &vector->min_received, problem) ||
      !optional_number(json, "pendings", &vector->pendings, problem) ||
      !optional_number(json, "max_calls", &vector->max_calls, problem) ||
      !optional_number(json, "max_asked", &vector->max_asked, problem) ||
      !read_bounds(json, "max_copied", vector->max_copied, problem) ||
      !read_bounds(json, "max_allocated", vector->max_allocated, problem) ||
      !optional_flag(json, "truncated", &vector->truncated, problem))
    return 0;
  vector->has_truncated = json_member(json, "truncated") != NULL;
  vector->has_source_error = error != NULL;
  if (error != NULL && !own_error(error, &vector->source_error, problem))
    return 0;
  if (status == NULL || status->kind != JSON_STRING || !is_one_of(status->text, statuses, ARRAY_LENGTH(statuses)))
    return refuse(problem, "expect.status %s is no status", status != NULL && status->text != NULL ? status->text : "?");
  vector->status = status->text;
  return 1;
}

static int read_drive(const struct json *json, int drives[DRIVES], struct problem *problem)
{
  const char *word = json == NULL ? "all" : json->kind == JSON_STRING ? json->text : "?";
  static const char *const words[] = { "pull", "push", "window", "all" };
  int all = strcmp(word, "all") == 0;
  if (!is_one_of(word, words, ARRAY_LENGTH(words)))
    return refuse(problem, "drive must be pull, push, window or all, not %s", word);
  drives[PULL] = drives[ONE_SHOT] = all || strcmp(word, "pull") == 0;
  drives[PUSH] = all || strcmp(word, "push") == 0;
  drives[WINDOW] = all || strcmp(word, "window") == 0;
  return 1;
}

static int read_results(const struct json *json, int results[RESULTS], struct problem *problem)
{
  if (json == NULL) {
    results[POOLED] = results[EXACT] = 1;
    return 1;
  }
  if (json->kind != JSON_ARRAY)
    return refuse(problem, "results must be an array");
  for (const struct json *result = json->first; result != NULL; result = result->next) {
    if (result->kind == JSON_STRING && strcmp(result->text, "pooled") == 0)
      results[POOLED] = 1;
    else if (result->kind == JSON_STRING && strcmp(result->text, "exact") == 0)
      results[EXACT] = 1;
    else
      return refuse(problem, "a result is pooled or exact");
  }
  return 1;
}

int vector_read(const struct json *json, struct vector *vector, char *text, size_t size)
{
  static const char *const keys[] = { "name", "why", "options", "drive", "results", "source", "expect" };
  static const brimful_options defaults = BRIMFUL_OPTIONS_INIT;
  const struct json *name = json_member(json, "name"), *options = json_member(json, "options");
  struct problem problem = { text, size };
  memset(vector, 0, sizeof *vector);
  vector->name = name != NULL && name->kind == JSON_STRING ? name->text : "(no name)";
  vector->options = defaults;
  vector->length = vector->partial = vector->received = vector->min_received = ABSENT;
  vector->pendings = vector->max_calls = vector->max_asked = ABSENT;
  for (int i = 0; i < RESULTS; i++)
    vector->max_copied[i] = vector->max_allocated[i] = ABSENT;
  return has_only(json, keys, ARRAY_LENGTH(keys), &problem) &&
         (options == NULL || read_options(options, &vector->options, &problem)) &&
         read_drive(json_member(json, "drive"), vector->drives, &problem) &&
         read_results(json_member(json, "results"), vector->results, &problem) &&
         read_steps(json_member(json, "source"), vector, &problem) &&
         read_expect(json_member(json, "expect"), vector, &problem);
}
