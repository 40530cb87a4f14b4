/* See curl_body.h. */
#include "curl_body.h"

/* The response's head has been read: what it announces is what the body is held to. */
static brimful_status begin(struct curl_body *body)
{
  struct curl_header *encoding;
  curl_off_t length = -1;
  int is_encoded = curl_easy_header(body->easy, "Content-Encoding", 0, CURLH_HEADER, -1, &encoding) == CURLHE_OK;
  curl_easy_getinfo(body->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  body->options.length = length >= 0 && !is_encoded ? (uint64_t)length : BRIMFUL_UNKNOWN;
  /* libcurl may decode what is encoded: then the length is not that of the bytes that come here. */
  body->options.size_hint = length >= 0 && is_encoded ? (uint64_t)length : BRIMFUL_UNKNOWN;
  body->begun = 1;
  return brimful_collector_reset(body->collector, &body->options);
}

static size_t write_body(char *data, size_t size, size_t count, void *context)
{
  struct curl_body *body = context;
  body->status = body->begun ? BRIMFUL_OK : begin(body);
  if (body->status == BRIMFUL_OK)
    body->status = brimful_collector_write(body->collector, data, size * count, NULL);
  return body->status == BRIMFUL_OK ? size * count : 0; /* 0 ends the transfer */
}

brimful_status curl_body_open(struct curl_body *body, CURL *easy, brimful_pool *pool, const brimful_options *options)
{
  static const brimful_options defaults = BRIMFUL_OPTIONS_INIT;
  body->easy = easy;
  body->options = options != NULL ? *options : defaults;
  body->begun = 0;
  body->status = BRIMFUL_OK;
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
  return brimful_collector_new(pool, &body->options, &body->collector);
}

brimful_status curl_body_end(struct curl_body *body, CURLcode code)
{
  brimful_status status = body->status;
  if (!body->begun) { /* no byte came, and nothing may be left of the last body */
    body->options.length = body->options.size_hint = BRIMFUL_UNKNOWN;
    status = brimful_collector_reset(body->collector, &body->options);
  }
  if (status == BRIMFUL_OK && code == CURLE_OK)
    status = brimful_collector_end(body->collector);
  else if (status == BRIMFUL_OK)
    status = code == CURLE_PARTIAL_FILE ? BRIMFUL_ERR_SHORT : BRIMFUL_ERR_SOURCE;
  body->begun = 0; /* for the next transfer */
  body->status = BRIMFUL_OK;
  return status;
}

void curl_body_close(struct curl_body *body)
{
  brimful_collector_free(body->collector);
  body->collector = NULL;
}
