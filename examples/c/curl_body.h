/*
 * Whole bodies by libcurl's write callback, from one transfer or from many on one pool. Used by curl_easy.c and
 * curl_multi.c; libcurl 7.84 or later.
 *
 *     struct curl_body body;
 *     curl_body_open(&body, easy, pool, &options);
 *     status = curl_body_end(&body, curl_easy_perform(easy));
 *     if (status == BRIMFUL_OK)
 *       status = brimful_collector_finish(body.collector, &buffer);      or _finish_exact
 *     ...                                                              the same handle may perform again, and again
 *     curl_body_close(&body);
 */
#ifndef CURL_BODY_H
#define CURL_BODY_H

#include <brimful.h>
#include <curl/curl.h>

struct curl_body {
  CURL *easy;
  brimful_options options;      /* of every body; its length or size hint is what the response says */
  brimful_collector *collector; /* has the body, or what came of it */
  int begun;
  brimful_status status; /* why the callback has ended the transfer */
};

/*
 * Makes `easy` give its bodies to `body`, which must stay where it is. pool and options are those of
 * brimful_collector_new and may be NULL. An error leaves nothing to be closed.
 */
brimful_status curl_body_open(struct curl_body *body, CURL *easy, brimful_pool *pool, const brimful_options *options);

/*
 * Says how the transfer has ended, with what curl_easy_perform or CURLMsg says. BRIMFUL_OK: the body is complete. Else
 * what came can be taken as the partial: BRIMFUL_ERR_LIMIT, _NO_MEMORY and _BUDGET ended the transfer (libcurl calls that
 * CURLE_WRITE_ERROR), BRIMFUL_ERR_SHORT: the connection was cut, BRIMFUL_ERR_SOURCE: curl_easy_strerror(code) says why.
 */
brimful_status curl_body_end(struct curl_body *body, CURLcode code);

void curl_body_close(struct curl_body *body);

#endif
