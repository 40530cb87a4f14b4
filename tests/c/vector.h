/* One conformance vector as the JSON says it (tests/vectors/README.md). What is not known is refused, never skipped. */
#ifndef VECTOR_H
#define VECTOR_H

#include "json.h"

#include <brimful.h>

#define MOST_STEPS 4096
#define ABSENT UINT64_MAX /* an expectation that the case does not have */

enum drive { PULL, ONE_SHOT, PUSH, WINDOW, DRIVES };
enum result { POOLED, EXACT, RESULTS };
enum step_kind { GIVE, ANSWER, OVER, CANCEL, END };

struct step {
  enum step_kind kind;
  uint64_t count;      /* bytes to give, times to answer, bytes over the room */
  uint64_t each;       /* the most bytes of one answer */
  brimful_status then; /* what is answered; of a give, with its last bytes */
};

struct vector {
  const char *name;
  brimful_options options;
  int drives[DRIVES];
  int results[RESULTS];
  struct step steps[MOST_STEPS];
  size_t step_count;
  const char *status;
  uint64_t length, partial, received, min_received, pendings, max_calls, max_asked;
  uint64_t max_copied[RESULTS], max_allocated[RESULTS];
  int has_source_error, has_truncated;
  int32_t source_error;
  int32_t truncated;
};

/* Fills *vector, whose texts belong to the JSON. 0 where the case is not one; *problem says what is wrong. */
int vector_read(const struct json *json, struct vector *vector, char *problem, size_t size);

#endif
