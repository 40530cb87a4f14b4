/* What a fuzzer's bytes say is to be done, and the content of the bodies that they make. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* The bytes that are left; zeros behind their end. */
struct script {
  const uint8_t *bytes;
  size_t length;
};

uint8_t next_byte(struct script *script);
/* A length: most are small, some around the sizes of blocks, a few large. */
size_t next_length(struct script *script);

/* Byte i of body `seed` is (i + seed) mod 251. */
void paint(unsigned seed, uint64_t at, uint8_t *bytes, size_t length);
/* Ends the process, so that the fuzzer keeps its bytes, where one differs. */
void must_be_painted(unsigned seed, uint64_t at, const void *bytes, size_t length);

#define MUST(condition) ((condition) ? (void)0 : must_fail(#condition, __FILE__, __LINE__))
_Noreturn void must_fail(const char *condition, const char *file, int line);

#endif
