/* Messages on their way to the server. Each is a type, a length and fields; what the socket does not take stays. */
#ifndef POSTGRES_OUTPUT_H
#define POSTGRES_OUTPUT_H

#include <brimful.h>

struct output {
  char *bytes;
  size_t length, capacity, sent;
  size_t began;     /* where the message that is being written has its length */
  int out_of_memory; /* once set, nothing is sent any more */
};

void output_begin(struct output *output, char type); /* 0: the first message of a connection, which has no type */
void output_bytes(struct output *output, const void *bytes, size_t length);
void output_text(struct output *output, const char *text); /* with its NUL */
void output_number16(struct output *output, unsigned number);
void output_number32(struct output *output, uint32_t number);
void output_end(struct output *output);

/* BRIMFUL_OK: all is sent. BRIMFUL_PENDING: the socket takes no more now. BRIMFUL_ERR_SOURCE: errno says why.
   BRIMFUL_ERR_NO_MEMORY. */
brimful_status output_send(struct output *output, int socket);

#endif
