/* What holds for structs that begin with their size, and for options out of range. */
#include "check.h"
#include "source.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A struct of a later release: ours, and fields that this release does not know. */
struct later_options {
  brimful_options known;
  uint64_t unknown[2];
};

static brimful_status collect_with(const brimful_options *options)
{
  struct source source = SOURCE(10);
  brimful_buffer *buffer;
  brimful_status status = brimful_collect(NULL, options, source_read, &source, &buffer, NULL);
  CHECK((buffer != NULL) == (status == BRIMFUL_OK));
  if (status == BRIMFUL_ERR_INVALID)
    SAME(source.calls, 0);
  brimful_buffer_release(buffer);
  return status;
}

TEST(options_of_an_older_release_get_defaults_for_what_they_lack)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.limit = 9;
  options.flags = 0xffff; /* behind the end of what the size says, so not looked at */
  options.struct_size = offsetof(brimful_options, end);
  STATUS(collect_with(&options), BRIMFUL_ERR_LIMIT);
  options.struct_size = offsetof(brimful_options, limit);
  STATUS(collect_with(&options), BRIMFUL_OK);
  options.length = 0; /* not looked at either */
  options.struct_size = offsetof(brimful_options, length);
  STATUS(collect_with(&options), BRIMFUL_OK);
}

TEST(a_struct_size_that_cannot_be_is_invalid)
{
  const size_t sizes[] = { 0, 1, 7, 9, 15, 17, 35, sizeof(brimful_options) - 1, 1025, SIZE_MAX };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
    options.struct_size = sizes[i];
    STATUS(collect_with(&options), BRIMFUL_ERR_INVALID);
    STATUS(brimful_collector_new(NULL, &options, &collector), BRIMFUL_ERR_INVALID);
    CHECK(collector == NULL);
  }
}

TEST(options_of_a_later_release_are_read_when_their_unknown_part_is_zero_and_refused_when_it_is_not)
{
  struct later_options options;
  memset(&options, 0, sizeof options);
  brimful_options_init(&options.known, sizeof options);
  SAME(options.known.struct_size, sizeof options);
  options.known.limit = 9;
  STATUS(collect_with(&options.known), BRIMFUL_ERR_LIMIT);
  options.unknown[1] = 1;
  STATUS(collect_with(&options.known), BRIMFUL_ERR_INVALID);
}

TEST(pool_options_follow_the_same_rule)
{
  struct {
    brimful_pool_options known;
    uint64_t unknown;
  } options;
  brimful_pool *pool;
  brimful_pool_options_init(&options.known, sizeof options);
  SAME(options.unknown, 0);
  STATUS(brimful_pool_new(&options.known, &pool), BRIMFUL_OK);
  brimful_pool_release(pool);
  options.unknown = 1;
  STATUS(brimful_pool_new(&options.known, &pool), BRIMFUL_ERR_INVALID);
  CHECK(pool == NULL);
  options.known.struct_size = offsetof(brimful_pool_options, flags);
  options.known.flags = 0xffff;
  STATUS(brimful_pool_new(&options.known, &pool), BRIMFUL_OK);
  brimful_pool_release(pool);
  options.known.struct_size = 3;
  STATUS(brimful_pool_new(&options.known, &pool), BRIMFUL_ERR_INVALID);
}

TEST(the_init_functions_do_what_the_macros_do_and_stay_within_their_size)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT, by_call;
  brimful_pool_options pool_options = BRIMFUL_POOL_OPTIONS_INIT, pool_by_call;
  unsigned char bytes[sizeof(brimful_options) + 16];
  size_t size = offsetof(brimful_options, flags);
  memset(&by_call, 0xee, sizeof by_call);
  brimful_options_init(&by_call, sizeof by_call);
  CHECK(memcmp(&options, &by_call, sizeof options) == 0);
  memset(&pool_by_call, 0xee, sizeof pool_by_call);
  brimful_pool_options_init(&pool_by_call, sizeof pool_by_call);
  CHECK(memcmp(&pool_options, &pool_by_call, sizeof pool_options) == 0);

  memset(bytes, 0xee, sizeof bytes);
  brimful_options_init((brimful_options *)(void *)bytes, size);
  options.struct_size = size;
  CHECK(memcmp(bytes, &options, size) == 0 && bytes[size] == 0xee);
  memset(bytes, 0xee, sizeof bytes);
  brimful_options_init((brimful_options *)(void *)bytes, 3); /* too small for the size itself */
  CHECK(bytes[0] == 0xee);
  brimful_options_init(NULL, sizeof options);
  brimful_pool_options_init(NULL, sizeof pool_options);
}

TEST(info_is_filled_as_far_as_both_know_it_and_the_rest_is_cleared)
{
  struct {
    brimful_info known;
    uint64_t unknown[2];
    uint64_t behind;
  } info;
  struct source source = SOURCE(10);
  brimful_collector *collector;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);

  memset(&info, 0xee, sizeof info);
  info.known.struct_size = offsetof(brimful_info, expected);
  STATUS(brimful_collector_info(collector, &info.known), BRIMFUL_OK);
  SAME(info.known.struct_size, offsetof(brimful_info, expected));
  SAME(info.known.received, 10);
  SAME(info.known.expected, UINT64_C(0xeeeeeeeeeeeeeeee));

  memset(&info, 0xee, sizeof info);
  info.known.struct_size = offsetof(__typeof__(info), behind);
  STATUS(brimful_collector_info(collector, &info.known), BRIMFUL_OK);
  SAME(info.known.received, 10);
  SAME(info.known.expected, BRIMFUL_UNKNOWN);
  SAME(info.known.state, BRIMFUL_STATE_COMPLETE);
  SAME(info.unknown[0] | info.unknown[1], 0);
  SAME(info.behind, UINT64_C(0xeeeeeeeeeeeeeeee));

  info.known.struct_size = 10;
  STATUS(brimful_collector_info(collector, &info.known), BRIMFUL_ERR_INVALID);
  brimful_collector_free(collector);
}

TEST(pool_statistics_are_filled_by_the_same_rule)
{
  struct {
    brimful_pool_statistics known;
    uint64_t unknown;
  } statistics;
  brimful_pool *pool = new_pool(0);
  memset(&statistics, 0xee, sizeof statistics);
  statistics.known.struct_size = sizeof statistics;
  STATUS(brimful_pool_stats(pool, &statistics.known), BRIMFUL_OK);
  SAME(statistics.known.rented, 0);
  SAME(statistics.known.refused, 0);
  SAME(statistics.unknown, 0);
  statistics.known.struct_size = 4;
  STATUS(brimful_pool_stats(pool, &statistics.known), BRIMFUL_ERR_INVALID);
  brimful_pool_release(pool);
}

TEST(each_option_out_of_range_is_invalid)
{
  static const struct {
    size_t offset;
    size_t size;
    uint64_t value;
  } wrong[] = {
    { offsetof(brimful_options, end), 4, 2 },
    { offsetof(brimful_options, flags), 4, 4 },
    { offsetof(brimful_options, prefer), 4, 2 },
    { offsetof(brimful_options, padding), 4, 65537 },
    { offsetof(brimful_options, first_block), 8, 4095 },
    { offsetof(brimful_options, first_block), 8, UINT64_C(1) + (1 << 30) },
    { offsetof(brimful_options, max_window), 8, 4095 },
    { offsetof(brimful_options, max_window), 8, UINT64_MAX },
  };
  for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_info info = { .struct_size = sizeof info };
    brimful_collector *collector;
    uint32_t half = (uint32_t)wrong[i].value;
    options.info = &info;
    memcpy((char *)&options + wrong[i].offset, wrong[i].size == 4 ? (void *)&half : (void *)&wrong[i].value,
           wrong[i].size);
    STATUS(collect_with(&options), BRIMFUL_ERR_INVALID);
    STATUS(info.status, BRIMFUL_ERR_INVALID);
    STATUS(brimful_collector_new(NULL, &options, &collector), BRIMFUL_ERR_INVALID);
  }
}

TEST(each_pool_option_out_of_range_is_invalid)
{
  brimful_pool_options options = BRIMFUL_POOL_OPTIONS_INIT;
  brimful_pool *pool;
  options.flags = 4;
  STATUS(brimful_pool_new(&options, &pool), BRIMFUL_ERR_INVALID);
  options.flags = 0;
  options.reserved = 1;
  STATUS(brimful_pool_new(&options, &pool), BRIMFUL_ERR_INVALID);
  CHECK(pool == NULL);
}

TEST(options_that_are_all_zero_allow_only_the_empty_body)
{
  brimful_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.length = BRIMFUL_UNKNOWN;
  STATUS(collect_with(&options), BRIMFUL_ERR_LIMIT);
}

TEST(an_info_that_cannot_be_is_invalid_before_the_source_is_asked)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_info info = { .struct_size = 5 };
  options.info = &info;
  STATUS(collect_with(&options), BRIMFUL_ERR_INVALID);
}
