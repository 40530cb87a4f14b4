#include "authentication.h"
#include "input.h"

#include "../sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define DIGEST 32
#define MOST_ITERATIONS 1000000 /* a server may not make us compute for ever */

/* ---- base64 */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes 4 characters for each 3 bytes, and a NUL. */
static void to_base64(const unsigned char *bytes, size_t length, char *text)
{
  for (size_t i = 0; i < length; i += 3) {
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (i + 1 < length)
      group |= (uint32_t)bytes[i + 1] << 8;
    if (i + 2 < length)
      group |= bytes[i + 2];
    *text++ = digits[group >> 18];
    *text++ = digits[group >> 12 & 63];
    *text++ = i + 1 < length ? digits[group >> 6 & 63] : '=';
    *text++ = i + 2 < length ? digits[group & 63] : '=';
  }
  *text = '\0';
}

/* Returns how many bytes it wrote; 0 for what is no base64 or does not fit. */
static size_t from_base64(const char *text, size_t length, unsigned char *bytes, size_t capacity)
{
  size_t written = 0;
  uint32_t group = 0;
  unsigned bits = 0;
  while (length > 0 && text[length - 1] == '=')
    length--;
  for (size_t i = 0; i < length; i++) {
    const char *digit = text[i] == '\0' ? NULL : strchr(digits, text[i]);
    if (digit == NULL)
      return 0;
    group = group << 6 | (uint32_t)(digit - digits);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      if (written == capacity)
        return 0;
      bytes[written++] = (unsigned char)(group >> bits);
    }
  }
  return written;
}

/* ---- HMAC and the salted password */

struct hmac {
  struct sha256 inner, outer; /* after their first block, which is the key's */
};

static void digest(struct sha256 *hash, unsigned char out[DIGEST])
{
  char hex[2 * DIGEST + 1];
  sha256_end(hash, hex);
  for (int i = 0; i < DIGEST; i++)
    out[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void hmac_begin(struct hmac *hmac, const void *key, size_t length)
{
  unsigned char block[64] = { 0 };
  if (length > sizeof block) {
    sha256_begin(&hmac->inner);
    sha256_add(&hmac->inner, key, length);
    digest(&hmac->inner, block);
  } else if (length > 0) {
    memcpy(block, key, length);
  }
  for (size_t i = 0; i < sizeof block; i++)
    block[i] ^= 0x36;
  sha256_begin(&hmac->inner);
  sha256_add(&hmac->inner, block, sizeof block);
  for (size_t i = 0; i < sizeof block; i++)
    block[i] ^= 0x36 ^ 0x5c;
  sha256_begin(&hmac->outer);
  sha256_add(&hmac->outer, block, sizeof block);
}

static void hmac_end(const struct hmac *key, const void *data, size_t length, unsigned char out[DIGEST])
{
  struct hmac hmac = *key;
  sha256_add(&hmac.inner, data, length);
  digest(&hmac.inner, out);
  sha256_add(&hmac.outer, out, DIGEST);
  digest(&hmac.outer, out);
}

static void hmac_of(const unsigned char key[DIGEST], const char *text, unsigned char out[DIGEST])
{
  struct hmac hmac;
  hmac_begin(&hmac, key, DIGEST);
  hmac_end(&hmac, text, strlen(text), out);
}

/* PBKDF2 with one block. `salt` has room for 4 bytes more. */
static void salt_password(const char *password, unsigned char *salt, size_t length, long iterations,
                          unsigned char out[DIGEST])
{
  unsigned char round[DIGEST];
  struct hmac key;
  hmac_begin(&key, password, strlen(password));
  memcpy(salt + length, "\0\0\0\1", 4);
  hmac_end(&key, salt, length + 4, round);
  memcpy(out, round, DIGEST);
  while (--iterations > 0) {
    hmac_end(&key, round, DIGEST, round);
    for (int i = 0; i < DIGEST; i++)
      out[i] ^= round[i];
  }
}

/* ---- SCRAM */

static const char *scram_begin(struct authentication *authentication, const char *mechanisms, size_t length,
                               struct output *output)
{
  static const char wanted[] = "SCRAM-SHA-256";
  unsigned char random[18];
  char first[64];
  size_t at = 0;
  while (at < length && strnlen(mechanisms + at, length - at) < length - at && strcmp(mechanisms + at, wanted) != 0)
    at += strlen(mechanisms + at) + 1;
  if (at >= length || strnlen(mechanisms + at, length - at) == length - at)
    return "the server does not offer SCRAM-SHA-256";
  if (getrandom(random, sizeof random, 0) != sizeof random)
    return "there are no random numbers for SCRAM";
  to_base64(random, sizeof random, authentication->nonce);
  int written = snprintf(first, sizeof first, "n,,n=,r=%s", authentication->nonce);
  output_begin(output, 'p');
  output_text(output, wanted);
  output_number32(output, (uint32_t)written);
  output_bytes(output, first, (size_t)written);
  output_end(output);
  return NULL;
}

/* `challenge` is r=NONCE,s=SALT,i=ITERATIONS. */
static const char *scram_prove(struct authentication *authentication, const char *challenge, struct output *output)
{
  static const char wrong[] = "the server's SCRAM challenge cannot be understood";
  unsigned char salt[256 + 4], salted[DIGEST], key[DIGEST], stored[DIGEST], signature[DIGEST];
  char proof[45], signed_text[2048], last[1024];
  struct sha256 hash;
  size_t nonce_length = strlen(authentication->nonce);
  const char *salt_field = strstr(challenge, ",s="), *count_field = strstr(challenge, ",i=");
  if (nonce_length == 0 || strncmp(challenge, "r=", 2) != 0 || salt_field == NULL || count_field < salt_field)
    return wrong;
  if (strncmp(challenge + 2, authentication->nonce, nonce_length) != 0)
    return "the server's SCRAM challenge is not for this connection";
  size_t salt_length = from_base64(salt_field + 3, (size_t)(count_field - salt_field) - 3, salt, sizeof salt - 4);
  long iterations = strtol(count_field + 3, NULL, 10);
  if (salt_length == 0 || iterations < 1 || iterations > MOST_ITERATIONS)
    return wrong;
  int length = snprintf(last, sizeof last, "c=biws,%.*s", (int)(salt_field - challenge), challenge);
  int all = snprintf(signed_text, sizeof signed_text, "n=,r=%s,%s,%s", authentication->nonce, challenge, last);
  if (length >= (int)sizeof last - 64 || all >= (int)sizeof signed_text)
    return wrong;

  salt_password(authentication->password, salt, salt_length, iterations, salted);
  hmac_of(salted, "Client Key", key);
  sha256_begin(&hash);
  sha256_add(&hash, key, DIGEST);
  digest(&hash, stored);
  hmac_of(stored, signed_text, signature);
  for (int i = 0; i < DIGEST; i++)
    key[i] ^= signature[i];
  to_base64(key, DIGEST, proof);
  length += snprintf(last + length, sizeof last - (size_t)length, ",p=%s", proof);
  hmac_of(salted, "Server Key", key);
  hmac_of(key, signed_text, signature);
  to_base64(signature, DIGEST, authentication->signature);

  output_begin(output, 'p');
  output_bytes(output, last, (size_t)length);
  output_end(output);
  return NULL;
}

static const char *scram_check(struct authentication *authentication, const char *answer)
{
  if (authentication->signature[0] == '\0' || strncmp(answer, "v=", 2) != 0 ||
      strcmp(answer + 2, authentication->signature) != 0)
    return "the server does not know the password either: it may not be the right server";
  authentication->signature[0] = authentication->nonce[0] = '\0';
  return NULL;
}

/* ---- what the server asks for */

const char *authentication_answer(struct authentication *authentication, const char *body, size_t length,
                                  struct output *output)
{
  enum { DONE = 0, CLEAR_TEXT = 3, MD5 = 5, SASL = 10, SASL_CONTINUE = 11, SASL_FINAL = 12 };
  char text[1024];
  uint32_t wanted = length < 4 ? UINT32_MAX : number32((const unsigned char *)body);
  if (wanted != DONE && wanted <= SASL_FINAL && authentication->password == NULL)
    return "the server asks for a password, and none was given";
  if (wanted == SASL_CONTINUE || wanted == SASL_FINAL) {
    if (length - 4 >= sizeof text)
      return "the server's SCRAM message is too long";
    memcpy(text, body + 4, length - 4);
    text[length - 4] = '\0';
  }
  switch (wanted) {
  case DONE:
    return authentication->nonce[0] == '\0' ? NULL
                                            : "the server ended SCRAM without proving that it knows the password";
  case CLEAR_TEXT:
    output_begin(output, 'p');
    output_text(output, authentication->password);
    output_end(output);
    return NULL;
  case MD5:
    return "the server asks for an MD5 password, which PostgreSQL has deprecated: have it use scram-sha-256";
  case SASL:
    return scram_begin(authentication, body + 4, length - 4, output);
  case SASL_CONTINUE:
    return scram_prove(authentication, text, output);
  case SASL_FINAL:
    return scram_check(authentication, text);
  default:
    return "the server asks for a way to log in that this client does not have";
  }
}
