/*
 * Exact results in memory of the caller's own: an arena that is given up as a whole, as servers have one for each request.
 *
 *     cc arena.c $(pkg-config --cflags --libs brimful) && ./a.out FILE...
 */
#include <brimful.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)
#define ALIGNED(size) (((size) + 15) & ~(size_t)15)

struct chunk {
  struct chunk *next;
  size_t size, used;
  _Alignas(16) unsigned char bytes[];
};

struct arena {
  struct chunk *chunks; /* the one in use first */
  size_t total;
};

/* Whether the piece is the last one of the chunk in use, which can still change its size. */
static int is_last(const struct arena *arena, const void *memory, size_t size)
{
  const struct chunk *chunk = arena->chunks;
  return (const unsigned char *)memory + ALIGNED(size) == chunk->bytes + chunk->used;
}

static void *allocate(void *context, size_t size)
{
  struct arena *arena = context;
  struct chunk *chunk = arena->chunks;
  if (size > SIZE_MAX / 2)
    return NULL;
  if (chunk == NULL || chunk->size - chunk->used < ALIGNED(size)) {
    size_t room = ALIGNED(size) > CHUNK ? ALIGNED(size) : CHUNK;
    if ((chunk = malloc(sizeof *chunk + room)) == NULL)
      return NULL; /* which becomes BRIMFUL_ERR_NO_MEMORY */
    *chunk = (struct chunk){ arena->chunks, room, 0 };
    arena->chunks = chunk;
    arena->total += room;
  }
  void *memory = chunk->bytes + chunk->used;
  chunk->used += ALIGNED(size);
  return memory;
}

static void *reallocate(void *context, void *memory, size_t old_size, size_t new_size)
{
  struct arena *arena = context;
  struct chunk *chunk = arena->chunks;
  if (is_last(arena, memory, old_size)) {
    size_t before = chunk->used - ALIGNED(old_size);
    if (new_size <= SIZE_MAX / 2 && ALIGNED(new_size) <= chunk->size - before) {
      chunk->used = before + ALIGNED(new_size);
      return memory;
    }
  }
  void *moved = allocate(context, new_size);
  if (moved != NULL)
    memcpy(moved, memory, old_size < new_size ? old_size : new_size);
  return moved;
}

static void deallocate(void *context, void *memory, size_t size)
{
  struct arena *arena = context;
  if (is_last(arena, memory, size))
    arena->chunks->used -= ALIGNED(size);
}

static void give_up(struct arena *arena)
{
  while (arena->chunks != NULL) {
    struct chunk *next = arena->chunks->next;
    free(arena->chunks);
    arena->chunks = next;
  }
}

/* The file's bytes with a NUL behind them, which live as long as the arena; NULL, with the reason told. */
static char *read_file(struct arena *arena, const char *name, size_t *length)
{
  const brimful_allocator allocator = { sizeof allocator, allocate, reallocate, deallocate, arena };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector = NULL;
  void *data = NULL;
  int file = open(name, O_RDONLY);
  if (file < 0) {
    perror(name);
    return NULL;
  }
  options.prefer = BRIMFUL_PREFER_EXACT;
  options.padding = 1;
  options.allocator = &allocator;
  brimful_status status = brimful_collector_new(NULL, &options, &collector);
  if (status == BRIMFUL_OK)
    status = brimful_collector_read_fd(collector, file);
  if (status == BRIMFUL_OK)
    status = brimful_collector_finish_exact(collector, &data, length);
  if (status != BRIMFUL_OK)
    fprintf(stderr, "%s: %s\n", name, brimful_status_text(status));
  brimful_collector_free(collector); /* before the arena goes */
  close(file);
  return data;
}

int main(int count, char **arguments)
{
  struct arena arena = { NULL, 0 };
  size_t bytes = 0, length;
  int failed = 0;
  for (int i = 1; i < count; i++) {
    char *text = read_file(&arena, arguments[i], &length);
    failed |= text == NULL;
    if (text != NULL) {
      printf("%s: %zu bytes, %zu before the first NUL\n", arguments[i], length, strlen(text));
      bytes += length;
    }
  }
  printf("%zu bytes in %zu of the arena\n", bytes, arena.total);
  give_up(&arena);
  return failed;
}
