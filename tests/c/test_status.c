/* Statuses and the version. */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const struct {
  brimful_status status;
  const char *name;
} names[] = {
  { BRIMFUL_OK, "ok" },
  { BRIMFUL_PENDING, "pending" },
  { BRIMFUL_RETRY, "retry" },
  { BRIMFUL_MORE, "more" },
  { BRIMFUL_ERR_INVALID, "invalid" },
  { BRIMFUL_ERR_STATE, "state" },
  { BRIMFUL_ERR_BUSY, "busy" },
  { BRIMFUL_ERR_NO_MEMORY, "no_memory" },
  { BRIMFUL_ERR_BUDGET, "budget" },
  { BRIMFUL_ERR_LIMIT, "limit" },
  { BRIMFUL_ERR_SHORT, "short" },
  { BRIMFUL_ERR_LONG, "long" },
  { BRIMFUL_ERR_SOURCE, "source" },
  { BRIMFUL_ERR_CONTRACT, "contract" },
  { BRIMFUL_ERR_NO_PROGRESS, "no_progress" },
  { BRIMFUL_ERR_CANCELLED, "cancelled" },
  { BRIMFUL_ERR_ENCODING, "encoding" },
  { BRIMFUL_ERR_PANIC, "panic" },
};

TEST(every_status_has_its_number_its_name_and_a_sentence)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *text = brimful_status_text(names[i].status);
    SAME(names[i].status, (brimful_status)(i < 4 ? (int)i : 3 - (int)i));
    CHECK(strcmp(brimful_status_name(names[i].status), names[i].name) == 0);
    CHECK(strlen(text) > 10 && text[strlen(text) - 1] == '.');
  }
}

TEST(a_number_that_is_no_status_is_called_unknown)
{
  const brimful_status strange[] = { 4, 1000, INT32_MAX, -15, -1000, INT32_MIN };
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    CHECK(strcmp(brimful_status_name(strange[i]), "unknown") == 0);
    CHECK(strlen(brimful_status_text(strange[i])) > 10);
  }
}

TEST(the_library_that_runs_is_of_the_release_that_the_header_says)
{
  char text[32];
  SAME(brimful_version_number(), BRIMFUL_VERSION_NUMBER);
  SAME(BRIMFUL_VERSION_NUMBER, BRIMFUL_VERSION_MAJOR * 65536 + BRIMFUL_VERSION_MINOR * 256 + BRIMFUL_VERSION_PATCH);
  snprintf(text, sizeof text, "%d.%d.%d", BRIMFUL_VERSION_MAJOR, BRIMFUL_VERSION_MINOR, BRIMFUL_VERSION_PATCH);
  CHECK(strcmp(brimful_version(), text) == 0);
}
