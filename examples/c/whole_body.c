/* cc whole_body.c $(pkg-config --cflags --libs brimful) && ./a.out < FILE */
#include <brimful.h>
#include <stdio.h>

static brimful_status read_file(void *file, void *window, size_t room, size_t *filled) {
  *filled = fread(window, 1, room, file);
  return ferror((FILE *)file) ? -1 : BRIMFUL_OK; /* OK with 0 bytes is the end */
}

int main(void) {
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.limit = 100000000; /* one byte more is BRIMFUL_ERR_LIMIT */
  brimful_buffer *body = NULL;
  brimful_status status = brimful_collect(NULL, &options, read_file, stdin, &body, NULL);
  const void *data = NULL;
  size_t length = 0;
  if (status == BRIMFUL_OK) status = brimful_buffer_data(body, &data, &length);
  if (status != BRIMFUL_OK) {
    fprintf(stderr, "%s\n", brimful_status_text(status));
    return 1;
  }
  printf("%zu bytes in one piece\n", length);
  brimful_buffer_release(body); /* its memory serves the next body */
  return 0;
}
