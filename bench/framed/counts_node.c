/* Begins and ends counting from JavaScript. The few functions of Node-API that are used have been the same since version 1. */
#include "../c/counts.h"

#include <stddef.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
extern int napi_create_array(napi_env, napi_value *);
extern int napi_create_double(napi_env, double, napi_value *);
extern int napi_set_element(napi_env, napi_value, uint32_t, napi_value);

extern void counts_begin(void);
extern void counts_end(struct counts *out);

static napi_value begin(napi_env env, napi_callback_info info)
{
  (void)env, (void)info;
  counts_begin();
  return NULL;
}

static napi_value end(napi_env env, napi_callback_info info)
{
  struct counts counts;
  napi_value array, number;
  (void)info;
  counts_end(&counts);
  const uint64_t all[] = { counts.allocations, counts.allocated, counts.copied };
  napi_create_array(env, &array);
  for (uint32_t i = 0; i < 3; i++) {
    napi_create_double(env, (double)all[i], &number);
    napi_set_element(env, array, i, number);
  }
  return array;
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
  napi_value function;
  napi_create_function(env, "begin", 5, begin, NULL, &function);
  napi_set_named_property(env, exports, "begin", function);
  napi_create_function(env, "end", 3, end, NULL, &function);
  napi_set_named_property(env, exports, "end", function);
  return exports;
}
