/* See check.h. `abi [WORD]` runs the tests whose names hold WORD, all without it. Closes with CHECK_NAME. */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct test *first;
static struct test **last = &first;
static int failed_here;
static const char *skipped_here;

void check_register(struct test *test)
{
  *last = test;
  last = &test->next;
}

void check_failed(const char *file, int line, const char *what)
{
  printf("  %s:%d: %s\n", file, line, what);
  failed_here = 1;
}

void check_status(const char *file, int line, const char *call, brimful_status came, brimful_status expected)
{
  if (came == expected)
    return;
  printf("  %s:%d: %s: expected %s, came %s (%" PRId32 ")\n", file, line, call, brimful_status_name(expected),
         brimful_status_name(came), came);
  failed_here = 1;
}

void check_number(const char *file, int line, const char *what, uint64_t came, uint64_t expected)
{
  if (came == expected)
    return;
  printf("  %s:%d: %s: expected %" PRIu64 ", came %" PRIu64 "\n", file, line, what, expected, came);
  failed_here = 1;
}

void check_skip(const char *reason)
{
  skipped_here = reason;
}

int check_under_tool(void)
{
  return getenv("CHECK_UNDER") != NULL;
}

static void print_sentence(const char *name)
{
  for (; *name != '\0'; name++)
    putchar(*name == '_' ? ' ' : *name);
}

int main(int count, char **arguments)
{
  unsigned passed = 0, failed = 0, skipped = 0;
  const char *name = getenv("CHECK_NAME");
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (struct test *test = first; test != NULL; test = test->next) {
    if (count > 1 && strstr(test->name, arguments[1]) == NULL)
      continue;
    failed_here = 0;
    skipped_here = NULL;
    test->run();
    passed += !failed_here && skipped_here == NULL;
    failed += failed_here != 0;
    if (check_under_tool() && !failed_here)
      continue; /* what is left out there has run without it */
    skipped += !failed_here && skipped_here != NULL;
    printf("%s - ", failed_here ? "FAILED" : skipped_here != NULL ? "skipped" : "ok");
    print_sentence(test->name);
    if (skipped_here != NULL)
      printf(" (%s)", skipped_here);
    putchar('\n');
  }
  printf("%s: %u passed, %u failed", name != NULL ? name : "c", passed, failed);
  if (skipped > 0)
    printf(", %u skipped", skipped);
  putchar('\n');
  return failed > 0 || passed == 0;
}
