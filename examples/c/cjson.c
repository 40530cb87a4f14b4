/*
 * A parser that wants a NUL behind its text reads the body where it lies: `padding` puts zero bytes there that no length
 * counts. Reads JSON from standard input with cJSON and writes it without its white space.
 *
 *     cc cjson.c $(pkg-config --cflags --libs brimful libcjson) && ./a.out LIMIT < FILE
 */
#include <brimful.h>
#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>

/* The text may hold a NUL itself, at which the parser would stop: so where it stopped is compared with the length. */
static cJSON *parse(const char *text, size_t length)
{
  const char *end = text;
  cJSON *json = cJSON_ParseWithOpts(text, &end, 1);
  if (json != NULL && end == text + length)
    return json;
  fprintf(stderr, "no JSON at byte %zu of %zu\n", (size_t)(end - text), length);
  cJSON_Delete(json);
  return NULL;
}

int main(int count, char **arguments)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *body = NULL;
  const void *data;
  size_t length;
  cJSON *json = NULL;
  options.limit = count > 1 ? strtoull(arguments[1], NULL, 10) : 100000000;
  options.padding = 1;
  brimful_status status = brimful_collector_new(NULL, &options, &collector);
  if (status == BRIMFUL_OK)
    status = brimful_collector_read_fd(collector, 0);
  if (status == BRIMFUL_OK)
    status = brimful_collector_finish(collector, &body);
  if (status == BRIMFUL_OK)
    status = brimful_buffer_data(body, &data, &length);
  if (status == BRIMFUL_OK)
    json = parse(data, length);
  else
    fprintf(stderr, "%s\n", brimful_status_text(status));
  brimful_buffer_release(body); /* cJSON has copied what it keeps */
  brimful_collector_free(collector);
  if (json == NULL)
    return 1;
  char *text = cJSON_PrintUnformatted(json);
  cJSON_Delete(json);
  if (text == NULL || puts(text) < 0)
    return 1;
  cJSON_free(text);
  return 0;
}
