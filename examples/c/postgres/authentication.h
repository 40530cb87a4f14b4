/* How a connection says who it is: trust, a password in clear text, SCRAM-SHA-256 (RFC 5802, RFC 7677). */
#ifndef POSTGRES_AUTHENTICATION_H
#define POSTGRES_AUTHENTICATION_H

#include "output.h"

struct authentication {
  const char *password; /* NULL: none. SCRAM takes it as it is, which is right for ASCII */
  char nonce[25];       /* of SCRAM: 18 random bytes in base64; empty before it has begun */
  char signature[45];   /* what only a server that knows the password can answer; empty before it is due, and after */
};

/* Answers the body of an authentication request by writing to `output`, or by nothing where nothing is due. Returns
   NULL, or what is wrong, in words. */
const char *authentication_answer(struct authentication *authentication, const char *body, size_t length,
                                  struct output *output);

#endif
