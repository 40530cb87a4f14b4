#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void output_bytes(struct output *output, const void *bytes, size_t length)
{
  if (output->capacity - output->length < length) {
    size_t capacity = 2 * output->capacity + length + 256;
    char *larger = realloc(output->bytes, capacity);
    if (larger == NULL) {
      output->out_of_memory = 1;
      return;
    }
    output->bytes = larger;
    output->capacity = capacity;
  }
  if (length > 0)
    memcpy(output->bytes + output->length, bytes, length);
  output->length += length;
}

void output_text(struct output *output, const char *text)
{
  output_bytes(output, text, strlen(text) + 1);
}

void output_number16(struct output *output, unsigned number)
{
  unsigned char field[2] = { (unsigned char)(number >> 8), (unsigned char)number };
  output_bytes(output, field, sizeof field);
}

void output_number32(struct output *output, uint32_t number)
{
  output_number16(output, number >> 16);
  output_number16(output, number & 0xffff);
}

void output_begin(struct output *output, char type)
{
  if (type != 0)
    output_bytes(output, &type, 1);
  output->began = output->length;
  output_number32(output, 0);
}

void output_end(struct output *output)
{
  size_t length = output->length;
  if (output->out_of_memory)
    return;
  output->length = output->began;
  output_number32(output, (uint32_t)(length - output->began)); /* lies within what there is */
  output->length = length;
}

brimful_status output_send(struct output *output, int socket)
{
  if (output->out_of_memory)
    return BRIMFUL_ERR_NO_MEMORY;
  while (output->sent < output->length) {
    ssize_t count = send(socket, output->bytes + output->sent, output->length - output->sent, MSG_NOSIGNAL);
    if (count >= 0)
      output->sent += (size_t)count;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return BRIMFUL_PENDING;
    else if (errno != EINTR)
      return BRIMFUL_ERR_SOURCE;
  }
  output->sent = output->length = 0;
  return BRIMFUL_OK;
}
