/*
 * An APR bucket brigade: apr_brigade_write (https://apr.apache.org/docs/apr-util/1.6/group___a_p_r___util___bucket___brigades.html),
 * looked at bucket by bucket, or made contiguous with apr_brigade_pflatten. The pool is cleared after each body, and so is warm.
 */
#include "job.h"

#include <apr_buckets.h>
#include <apr_pools.h>

struct brigade {
  apr_pool_t *pool, *per_body;
  apr_bucket_alloc_t *buckets;
};

static struct brigade *own(struct job *job)
{
  if (job->own == NULL) {
    apr_pool_t *pool;
    if (apr_initialize() != APR_SUCCESS || apr_pool_create(&pool, NULL) != APR_SUCCESS)
      give_up("APR does not start");
    struct brigade *brigade = apr_pcalloc(pool, sizeof *brigade);
    brigade->pool = pool;
    apr_pool_create(&brigade->per_body, pool);
    brigade->buckets = apr_bucket_alloc_create(pool);
    job->own = brigade;
  }
  return job->own;
}

static apr_bucket_brigade *fill(struct job *job)
{
  static __thread char piece[WARM_BLOCK];
  struct brigade *own_one = own(job);
  apr_bucket_brigade *brigade = apr_brigade_create(own_one->per_body, own_one->buckets);
  size_t filled;
  for (;;) {
    filled = 0;
    if (source_read(job, piece, sizeof piece, &filled) == 0 && filled == 0)
      return brigade;
    apr_brigade_write(brigade, NULL, NULL, piece, filled);
  }
}

static void end(struct job *job, apr_bucket_brigade *brigade)
{
  apr_brigade_destroy(brigade);
  apr_pool_clear(((struct brigade *)job->own)->per_body);
}

static void in_pieces(struct job *job)
{
  apr_bucket_brigade *brigade = fill(job);
  for (apr_bucket *bucket = APR_BRIGADE_FIRST(brigade); bucket != APR_BRIGADE_SENTINEL(brigade);
       bucket = APR_BUCKET_NEXT(bucket)) {
    const char *data;
    apr_size_t length;
    apr_bucket_read(bucket, &data, &length, APR_BLOCK_READ);
    show(job, data, length);
  }
  end(job, brigade);
}

static void exact(struct job *job)
{
  apr_bucket_brigade *brigade = fill(job);
  char *data;
  apr_size_t length;
  apr_brigade_pflatten(brigade, &data, &length, ((struct brigade *)job->own)->per_body);
  show(job, data, length);
  end(job, brigade);
}

const struct row rows[] = {
  { "apr-brigade", in_pieces, NULL, NULL, NULL },
  { "apr-brigade-exact", exact, NULL, NULL, NULL },
  { NULL, NULL, NULL, NULL, NULL },
};
