/* Every answer that a callback can give, good and bad, at its first, second and third call, at each call that takes one. */
#include "check.h"
#include "source.h"

#include <stdlib.h>

#define PIECE 300
#define BODY ((uint64_t)3000)

struct script {
  int odd_at;            /* at this call, from 0, the callback answers as the row says; before that 300 bytes */
  brimful_status status; /* of that answer */
  size_t filled;         /* bytes of it, or TOO_MANY, or ALL_THERE_ARE */
  int calls;
  uint64_t given;
};

#define TOO_MANY ((size_t)1 << 40)
#define ALL_THERE_ARE SIZE_MAX

static brimful_status answers(void *context, void *window, size_t room, size_t *filled)
{
  struct script *script = context;
  size_t count = PIECE;
  SAME(*filled, 0);
  CHECK(window != NULL && room > 0);
  if (script->calls++ == script->odd_at) {
    if (script->filled == TOO_MANY || script->filled == ALL_THERE_ARE) {
      *filled = script->filled == TOO_MANY ? room + 1 : SIZE_MAX;
      return script->status;
    }
    count = script->filled;
  } else if (script->calls > script->odd_at && script->given >= BODY) {
    return BRIMFUL_OK;
  }
  if (count > room)
    count = room;
  if (count > BODY - script->given)
    count = (size_t)(BODY - script->given);
  paint(window, script->given, count);
  script->given += count;
  *filled = count;
  return script->calls == script->odd_at + 1 ? script->status : BRIMFUL_OK;
}

#define THE_END 100 /* as good as a length lets it be */

/* What an answer leads to; OK: it is an ordinary one, and the body goes on to its end. */
static const struct row {
  brimful_status status;
  size_t filled;
  brimful_status outcome;
  int bytes_count; /* whether those of this answer are the body's */
} rows[] = {
  { BRIMFUL_OK, 0, THE_END, 1 },
  { BRIMFUL_OK, 1, BRIMFUL_OK, 1 },
  { BRIMFUL_OK, TOO_MANY, BRIMFUL_ERR_CONTRACT, 0 },
  { BRIMFUL_OK, ALL_THERE_ARE, BRIMFUL_ERR_CONTRACT, 0 },
  { BRIMFUL_PENDING, 0, BRIMFUL_PENDING, 1 },
  { BRIMFUL_PENDING, 7, BRIMFUL_PENDING, 1 },
  { BRIMFUL_PENDING, TOO_MANY, BRIMFUL_ERR_CONTRACT, 0 },
  { BRIMFUL_RETRY, 0, BRIMFUL_OK, 1 },
  { BRIMFUL_RETRY, 7, BRIMFUL_OK, 1 },
  { BRIMFUL_RETRY, ALL_THERE_ARE, BRIMFUL_ERR_CONTRACT, 0 },
  { BRIMFUL_MORE, 0, BRIMFUL_ERR_CONTRACT, 0 },
  { BRIMFUL_MORE, 7, BRIMFUL_ERR_CONTRACT, 0 },
  { 4, 7, BRIMFUL_ERR_CONTRACT, 0 },
  { INT32_MAX, 0, BRIMFUL_ERR_CONTRACT, 0 },
  { -1, 0, BRIMFUL_ERR_SOURCE, 1 },
  { -1, 7, BRIMFUL_ERR_SOURCE, 1 },
  { BRIMFUL_ERR_NO_MEMORY, 7, BRIMFUL_ERR_SOURCE, 1 }, /* the callback's own, whatever its number */
  { INT32_MIN, 0, BRIMFUL_ERR_SOURCE, 1 },
  { -5, TOO_MANY, BRIMFUL_ERR_CONTRACT, 0 },
};

enum call { COLLECT, COLLECT_EXACT, COLLECT_INTO, READ, READ_EXACT, READ_INTO, CALLS };

static unsigned char target[BODY + 1];

/* Makes the call; whatever is left of the body is in *rest, or NULL. */
static brimful_status make(enum call call, const brimful_options *options, struct script *script, brimful_collector **rest)
{
  brimful_options exact = *options;
  brimful_buffer *buffer = NULL;
  brimful_status status;
  size_t length = 0;
  void *data = NULL;
  *rest = NULL;
  exact.prefer = BRIMFUL_PREFER_EXACT;
  switch (call) {
  case COLLECT:
    status = brimful_collect(NULL, options, answers, script, &buffer, rest);
    CHECK((status == BRIMFUL_OK) == buffer_is_painted(buffer, script->given));
    brimful_buffer_release(buffer);
    return status;
  case COLLECT_EXACT:
    status = brimful_collect_exact(NULL, options, answers, script, &data, &length, rest);
    CHECK(status == BRIMFUL_OK ? length == script->given && is_painted(data, 0, length) : data == NULL && length == 0);
    free(data);
    return status;
  case COLLECT_INTO:
    status = brimful_collect_into(options, answers, script, target, sizeof target, &length, rest);
    CHECK(is_painted(target, 0, length));
    return status;
  case READ_INTO:
    STATUS(brimful_collector_new_into(options, target, sizeof target, rest), BRIMFUL_OK);
    return brimful_collector_read(*rest, answers, script);
  default:
    STATUS(brimful_collector_new(NULL, call == READ ? options : &exact, rest), BRIMFUL_OK);
    return brimful_collector_read(*rest, answers, script);
  }
}

static void answer_at(enum call call, int nth, const struct row *row, int known)
{
  struct script script = { .odd_at = nth, .status = row->status, .filled = row->filled };
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_status status, expected = row->outcome;
  brimful_collector *rest;
  brimful_buffer *partial;
  uint64_t came = (uint64_t)nth * PIECE + (row->bytes_count ? row->filled : 0);
  if (known)
    options.length = BODY;
  if (expected == THE_END)
    expected = known ? BRIMFUL_ERR_SHORT : BRIMFUL_OK;
  status = make(call, &options, &script, &rest);
  STATUS(status, expected);
  if (rest == NULL)
    return;
  if (status != BRIMFUL_OK)
    SAME(info_of(rest).received, came);
  if (status == BRIMFUL_ERR_SOURCE)
    SAME(info_of(rest).source_error, row->status);
  if (status == BRIMFUL_PENDING) {
    STATUS(brimful_collector_read(rest, answers, &script), BRIMFUL_OK);
    came = BODY;
  } else if (status == BRIMFUL_OK) {
    came = script.given;
  } else {
    STATUS(brimful_collector_read(rest, answers, &script), status); /* it has ended, and the callback is not asked again */
    SAME(script.calls, nth + 1);
  }
  STATUS(brimful_collector_take_partial(rest, &partial), BRIMFUL_OK);
  CHECK(buffer_is_painted(partial, came));
  brimful_buffer_release(partial);
  brimful_collector_free(rest);
}

TEST(every_answer_at_the_first_second_and_third_call_leads_to_the_same_at_each_function_that_takes_a_callback)
{
  for (size_t row = 0; row < ARRAY_LENGTH(rows); row++) {
    for (enum call call = COLLECT; call < CALLS; call++) {
      for (int nth = 0; nth < 3; nth++) {
        answer_at(call, nth, &rows[row], 0);
        answer_at(call, nth, &rows[row], 1);
      }
    }
  }
}
