/* A new user's program: counts the bytes of standard input, and says which release does it. */

#include <brimful.h>
#include <stdio.h>

static brimful_status from_file(void *file, void *window, size_t room, size_t *filled) {
  *filled = fread(window, 1, room, file);
  return ferror((FILE *)file) ? -1 : BRIMFUL_OK;
}

int main(void) {
  brimful_buffer *body = NULL;
  brimful_status status = brimful_collect(NULL, NULL, from_file, stdin, &body, NULL);
  const void *data = NULL;
  size_t length = 0;
  if (status == BRIMFUL_OK) status = brimful_buffer_data(body, &data, &length);
  if (status != BRIMFUL_OK) {
    fprintf(stderr, "%s\n", brimful_status_text(status));
    return 1;
  }
  unsigned sum = 0;
  for (size_t at = 0; at < length; at++) sum += ((const unsigned char *)data)[at];
  printf("%s %s %d: %zu bytes, sum %u\n", brimful_version(), brimful_status_name(BRIMFUL_ERR_LIMIT),
         (int)(brimful_version_number() - BRIMFUL_VERSION_NUMBER), length, sum);
  brimful_buffer_release(body);
  return 0;
}
