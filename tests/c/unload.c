/*
 * Loads the library named by the argument, uses it on threads, and unloads it, a hundred times (H41). A program of its
 * own, since one that is linked to the library cannot unload it. Prints what is still mapped of it at the end.
 */
#include <brimful.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 100
#define THREADS 4

struct functions {
  brimful_status (*collect)(brimful_pool *, const brimful_options *, brimful_read_fn, void *, brimful_buffer **,
                            brimful_collector **);
  brimful_status (*collect_exact)(brimful_pool *, const brimful_options *, brimful_read_fn, void *, void **, size_t *,
                                  brimful_collector **);
  brimful_status (*data)(const brimful_buffer *, const void **, size_t *);
  void (*release)(brimful_buffer *);
  size_t (*trim)(brimful_pool *, uint64_t);
};

static void *function(void *library, const char *name)
{
  void *found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "unload: %s\n", dlerror());
    exit(1);
  }
  return found;
}

struct giving {
  size_t left;
};

static brimful_status gives(void *context, void *window, size_t room, size_t *filled)
{
  struct giving *giving = context;
  *filled = giving->left < room ? giving->left : room;
  memset(window, 'x', *filled);
  giving->left -= *filled;
  return BRIMFUL_OK;
}

static void *uses(void *context)
{
  const struct functions *f = context;
  for (size_t length = 1; length < 2000000; length *= 7) {
    struct giving giving = { length }, again = { length };
    brimful_buffer *buffer;
    const void *view;
    void *data;
    size_t size;
    if (f->collect(NULL, NULL, gives, &giving, &buffer, NULL) != BRIMFUL_OK ||
        f->data(buffer, &view, &size) != BRIMFUL_OK || size != length || ((const char *)view)[length - 1] != 'x')
      exit(1);
    f->release(buffer);
    if (f->collect_exact(NULL, NULL, gives, &again, &data, &size, NULL) != BRIMFUL_OK || size != length)
      exit(1);
    free(data);
  }
  return NULL;
}

static int is_mapped(const char *path)
{
  char line[4096];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    found |= strstr(line, path) != NULL;
  if (maps != NULL)
    fclose(maps);
  return found;
}

int main(int count, char **arguments)
{
  int rounds = count > 2 ? atoi(arguments[2]) : ROUNDS, stayed = 0;
  if (count < 2)
    return 2;
  for (int round = 0; round < rounds; round++) {
    struct functions f;
    pthread_t threads[THREADS];
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "unload: %s\n", dlerror());
      return 1;
    }
    *(void **)&f.collect = function(library, "brimful_collect");
    *(void **)&f.collect_exact = function(library, "brimful_collect_exact");
    *(void **)&f.data = function(library, "brimful_buffer_data");
    *(void **)&f.release = function(library, "brimful_buffer_release");
    *(void **)&f.trim = function(library, "brimful_pool_trim");
    for (int i = 0; i < THREADS; i++) {
      if (pthread_create(&threads[i], NULL, uses, &f) != 0)
        return 1;
    }
    uses(&f);
    for (int i = 0; i < THREADS; i++)
      pthread_join(threads[i], NULL);
    f.trim(NULL, 0); /* what the default pool holds would stay in the process */
    if (dlclose(library) != 0)
      return 1;
    stayed += is_mapped("libbrimful");
  }
  printf("%d times loaded, %d times still mapped afterwards\n", rounds, stayed);
  return 0;
}
