/**
 * A brimful_options with every default: unknown length, no limit but the pool's, pooled result.
 *
 *     brimful_options options = BRIMFUL_OPTIONS_INIT;
 *     options.limit = 1 << 20;
 */
#define BRIMFUL_OPTIONS_INIT                                                                                           \
  { sizeof(brimful_options), BRIMFUL_UNKNOWN, BRIMFUL_UNKNOWN, BRIMFUL_UNLIMITED, BRIMFUL_END_LENGTH, 0,               \
    BRIMFUL_PREFER_POOLED, 0, 0, 0, 0, 0, NULL, NULL, NULL }

/**
 * A brimful_pool_options with every default: 64 MiB retained, no budget, no limit, idle memory given back after 10 s.
 */
#define BRIMFUL_POOL_OPTIONS_INIT                                                                                      \
  { sizeof(brimful_pool_options), UINT64_C(67108864), BRIMFUL_UNLIMITED, BRIMFUL_UNLIMITED, UINT64_C(10000), 0, 0,     \
    NULL }
