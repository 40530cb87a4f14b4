/*
 * Tests without a framework. A test's name is a sentence: TEST(a_sentence) { ... } in any file registers itself, and
 * main runs all of them in the order of the files on the command line of the linker.
 */
#ifndef CHECK_H
#define CHECK_H

#include <brimful.h>

struct test {
  const char *name;
  void (*run)(void);
  struct test *next;
};

void check_register(struct test *test);
void check_failed(const char *file, int line, const char *what);
void check_status(const char *file, int line, const char *call, brimful_status came, brimful_status expected);
void check_number(const char *file, int line, const char *what, uint64_t came, uint64_t expected);
void check_skip(const char *reason);

#define TEST(name)                                                                                                     \
  static void name(void);                                                                                              \
  __attribute__((constructor)) static void register_##name(void)                                                       \
  {                                                                                                                    \
    static struct test test = { #name, name, NULL };                                                                   \
    check_register(&test);                                                                                             \
  }                                                                                                                    \
  static void name(void)

/* Marks the test as failed and goes on. */
#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

/* The status that a call returned. */
#define STATUS(call, expected) check_status(__FILE__, __LINE__, #call, (call), (expected))

/* Two numbers that should be the same. */
#define SAME(came, expected) check_number(__FILE__, __LINE__, #came, (uint64_t)(came), (uint64_t)(expected))

/* Marks the test as failed and leaves it. */
#define REQUIRE(condition)                                                                                             \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      check_failed(__FILE__, __LINE__, #condition);                                                                    \
      return;                                                                                                          \
    }                                                                                                                  \
  } while (0)

/* Leaves a test that cannot run here, and says why. */
#define SKIP(reason)                                                                                                   \
  do {                                                                                                                 \
    check_skip(reason);                                                                                                \
    return;                                                                                                            \
  } while (0)

/* Whether the tests run under valgrind or a sanitizer (CHECK_UNDER is set), where memory and time are not what they are. */
int check_under_tool(void);

#endif
