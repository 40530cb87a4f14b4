/*
 * Reads bodies one after another with libcurl's easy interface and writes them to standard output.
 *
 *     cc curl_easy.c curl_body.c $(pkg-config --cflags --libs brimful libcurl) && ./a.out LIMIT URL...
 */
#include "curl_body.h"

#include <stdio.h>
#include <stdlib.h>

/* Takes the body, or what came of it, and writes it where it lies. */
static brimful_status write_out(struct curl_body *body)
{
  brimful_buffer *buffer;
  brimful_slice piece;
  brimful_status status = brimful_collector_take_partial(body->collector, &buffer);
  if (status != BRIMFUL_OK)
    return status;
  for (size_t i = 0; brimful_buffer_segments(buffer, i, &piece, 1) == 1; i++)
    fwrite(piece.data, 1, piece.length, stdout);
  brimful_buffer_release(buffer); /* its memory serves the next body */
  return BRIMFUL_OK;
}

/* Whether the body of this URL is complete. */
static int fetch(CURL *easy, struct curl_body *body, const char *url)
{
  curl_easy_setopt(easy, CURLOPT_URL, url);
  CURLcode code = curl_easy_perform(easy);
  brimful_status status = curl_body_end(body, code);
  brimful_info info = { .struct_size = sizeof info };
  brimful_collector_info(body->collector, &info);
  if (status == BRIMFUL_OK)
    return write_out(body) == BRIMFUL_OK;
  fprintf(stderr, "%s: %s; %llu bytes had come\n", url,
          status == BRIMFUL_ERR_SOURCE ? curl_easy_strerror(code) : brimful_status_text(status),
          (unsigned long long)info.length);
  write_out(body);
  return 0;
}

int main(int count, char **arguments)
{
  struct curl_body body;
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  int failed = 0;
  if (count < 3) {
    fprintf(stderr, "usage: curl_easy LIMIT URL...\n");
    return 2;
  }
  options.limit = strtoull(arguments[1], NULL, 10);
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return 1;
  CURL *easy = curl_easy_init();
  if (easy == NULL || curl_body_open(&body, easy, NULL, &options) != BRIMFUL_OK) {
    fprintf(stderr, "no memory\n");
    return 1;
  }
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, ""); /* the limit is one of decoded bytes */
  for (int i = 2; i < count; i++)
    failed |= !fetch(easy, &body, arguments[i]);
  curl_easy_cleanup(easy);
  curl_body_close(&body);
  curl_global_cleanup();
  return failed || fflush(stdout) != 0;
}
