#include "input.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static brimful_status receive(int socket, void *bytes, size_t length, size_t *came)
{
  ssize_t count;
  *came = 0;
  while ((count = recv(socket, bytes, length, 0)) < 0 && errno == EINTR)
    ;
  if (count < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? BRIMFUL_PENDING : BRIMFUL_ERR_SOURCE;
  *came = (size_t)count;
  return count == 0 ? BRIMFUL_ERR_SHORT : BRIMFUL_OK;
}

/* Reads ahead, behind what is there. */
static brimful_status fill(struct input *input)
{
  size_t came;
  memmove(input->bytes, input->bytes + input->at, input->end - input->at);
  input->end -= input->at;
  input->at = 0;
  brimful_status status = receive(input->socket, input->bytes + input->end, sizeof input->bytes - input->end, &came);
  input->end += came;
  return status;
}

brimful_status input_field(struct input *input, size_t length, const unsigned char **field)
{
  while (input->end - input->at < length) {
    brimful_status status = fill(input);
    if (status != BRIMFUL_OK)
      return status;
  }
  *field = input->bytes + input->at;
  input->at += length;
  return BRIMFUL_OK;
}

brimful_status input_collect(struct input *input, brimful_collector *collector, uint64_t *left)
{
  for (;;) {
    brimful_info info = { .struct_size = sizeof info };
    size_t taken;
    brimful_status status =
        brimful_collector_write(collector, input->bytes + input->at, input->end - input->at, &taken);
    input->at += taken; /* what it did not lack is the head of the next field */
    *left -= taken;
    if (status != BRIMFUL_OK)
      return status;
    if (*left >= sizeof input->bytes || *left == 0) { /* at 0 it only says whether the body is complete */
      status = brimful_collector_read_fd(collector, input->socket);
      if (brimful_collector_info(collector, &info) == BRIMFUL_OK)
        *left = info.expected - info.received;
      return status;
    }
    status = fill(input); /* the rest is small, and what follows it comes with the same call */
    if (status != BRIMFUL_OK)
      return status;
  }
}

brimful_status input_skip(struct input *input, uint64_t *left)
{
  size_t share = INPUT_SHARE;
  size_t part = input->end - input->at;
  if (part > *left)
    part = (size_t)*left;
  input->at += part;
  *left -= part;
  while (*left > 0 && share > 0) {
    /* What was read ahead is used up, so its place is free for what nobody wants. */
    size_t want = *left < sizeof input->bytes ? (size_t)*left : sizeof input->bytes;
    brimful_status status = receive(input->socket, input->bytes, want, &part);
    if (status != BRIMFUL_OK)
      return status;
    *left -= part;
    share -= part < share ? part : share;
  }
  return *left > 0 ? BRIMFUL_MORE : BRIMFUL_OK;
}
