/*
 * Reads many bodies at once with libcurl's multi interface, all on one pool, and tells each one's length and SHA-256.
 *
 *     cc curl_multi.c curl_body.c $(pkg-config --cflags --libs brimful libcurl) && ./a.out LIMIT URL...
 */
#include "curl_body.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>

#define AT_ONCE 64

struct transfer {
  const char *url;
  CURL *easy;
  struct curl_body body;
};

static void fail(const char *what)
{
  fprintf(stderr, "curl_multi: %s\n", what);
  exit(1);
}

static void begin(CURLM *multi, brimful_pool *pool, const brimful_options *options, const char *url)
{
  struct transfer *transfer = malloc(sizeof *transfer);
  CURL *easy = curl_easy_init();
  if (transfer == NULL || easy == NULL || curl_body_open(&transfer->body, easy, pool, options) != BRIMFUL_OK)
    fail("no memory");
  transfer->url = url;
  transfer->easy = easy;
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  if (curl_multi_add_handle(multi, easy) != CURLM_OK)
    fail("curl_multi_add_handle");
}

static brimful_status tell(const struct transfer *transfer)
{
  brimful_buffer *buffer;
  brimful_slice piece;
  struct sha256 hash;
  char text[65];
  brimful_status status = brimful_collector_finish(transfer->body.collector, &buffer);
  if (status != BRIMFUL_OK)
    return status;
  sha256_begin(&hash);
  for (size_t i = 0; brimful_buffer_segments(buffer, i, &piece, 1) == 1; i++)
    sha256_add(&hash, piece.data, piece.length);
  sha256_end(&hash, text);
  printf("%s: %zu bytes, %s\n", transfer->url, brimful_buffer_length(buffer), text);
  brimful_buffer_release(buffer);
  return BRIMFUL_OK;
}

/* Whether the transfer that has ended brought its whole body. */
static int end(CURLM *multi, CURL *easy, CURLcode code)
{
  struct transfer *transfer = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
  brimful_status status = curl_body_end(&transfer->body, code);
  if (status == BRIMFUL_OK)
    status = tell(transfer);
  if (status != BRIMFUL_OK)
    printf("%s: %s\n", transfer->url,
           status == BRIMFUL_ERR_SOURCE ? curl_easy_strerror(code) : brimful_status_name(status));
  curl_multi_remove_handle(multi, easy);
  curl_easy_cleanup(easy);
  curl_body_close(&transfer->body);
  free(transfer);
  return status == BRIMFUL_OK;
}

int main(int count, char **arguments)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  int next = 2, open = 0, failed = 0, running, left;
  if (count < 3) {
    fprintf(stderr, "usage: curl_multi LIMIT URL...\n");
    return 2;
  }
  options.limit = strtoull(arguments[1], NULL, 10);
  pool_options.budget = (uint64_t)1 << 30; /* of all bodies together; beyond it one ends as `budget` */
  CURLM *multi = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_multi_init() : NULL;
  if (multi == NULL || brimful_pool_new(&pool_options, &pool) != BRIMFUL_OK)
    fail("no memory");
  while (open > 0 || next < count) {
    for (; open < AT_ONCE && next < count; open++)
      begin(multi, pool, &options, arguments[next++]);
    if (curl_multi_perform(multi, &running) != CURLM_OK)
      fail("curl_multi_perform");
    for (CURLMsg *said; (said = curl_multi_info_read(multi, &left)) != NULL; open--)
      failed |= !end(multi, said->easy_handle, said->data.result);
    if (running > 0 && curl_multi_poll(multi, NULL, 0, 1000, NULL) != CURLM_OK)
      fail("curl_multi_poll");
  }
  curl_multi_cleanup(multi);
  brimful_pool_release(pool);
  curl_global_cleanup();
  return failed;
}
