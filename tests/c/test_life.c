/* Forks at every kind of moment, unloading the library, and the example of an event loop (H35, H41, H43; E50). */
#include "check.h"
#include "source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned times(void)
{
  return check_under_tool() ? 10 : 1000;
}

/* Whether the child left with what it was to say. */
static int went_well(pid_t child)
{
  int status;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whether a whole body can be read on this pool, and again exactly. */
static int works(brimful_pool *pool, uint64_t length)
{
  struct source source = SOURCE(length), again = SOURCE(length);
  brimful_buffer *buffer;
  void *data;
  size_t size;
  int good = brimful_collect(pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK &&
             buffer_is_painted(buffer, length);
  brimful_buffer_release(buffer);
  good = good && brimful_collect_exact(pool, NULL, source_read, &again, &data, &size, NULL) == BRIMFUL_OK &&
         size == length && is_painted(data, 0, size);
  if (good)
    free(data);
  return good;
}

TEST(a_child_that_is_forked_in_the_middle_of_a_body_goes_on_with_it_as_the_parent_does_a_thousand_times)
{
  brimful_pool *pools[] = { NULL, new_pool(0), new_pool(BRIMFUL_POOL_LIST) };
  for (unsigned i = 0; i < times(); i++) {
    brimful_pool *pool = pools[i % ARRAY_LENGTH(pools)];
    struct source source = SOURCE(i % 2 == 0 ? 30000 : 300);
    brimful_collector *collector;
    brimful_buffer *buffer;
    int whole;
    source.pend_every = (size_t)source.length / 2;
    REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_PENDING);
    pid_t child = fork();
    while (brimful_collector_read(collector, source_read, &source) == BRIMFUL_PENDING)
      ;
    whole = brimful_collector_finish(collector, &buffer) == BRIMFUL_OK && buffer_is_painted(buffer, source.length);
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    if (child == 0)
      _exit(whole && works(pool, 20000) ? 0 : 1);
    CHECK(whole);
    REQUIRE(went_well(child));
  }
  brimful_pool_release(pools[1]);
  brimful_pool_release(pools[2]);
}

struct forking {
  struct source source;
  pid_t child;
};

static brimful_status forks(void *context, void *window, size_t room, size_t *filled)
{
  struct forking *forking = context;
  if (forking->source.calls == 2)
    forking->child = fork();
  return source_read(&forking->source, window, room, filled);
}

TEST(a_child_that_is_forked_inside_a_callback_goes_on_with_the_body_a_thousand_times)
{
  brimful_pool *pool = new_pool(0);
  for (unsigned i = 0; i < times(); i++) {
    struct forking forking = { SOURCE(20000), -1 };
    brimful_buffer *buffer;
    int whole;
    forking.source.each = 3000;
    whole = brimful_collect(i % 2 == 0 ? pool : NULL, NULL, forks, &forking, &buffer, NULL) == BRIMFUL_OK &&
            buffer_is_painted(buffer, 20000);
    brimful_buffer_release(buffer);
    if (forking.child == 0)
      _exit(whole && works(pool, 20000) ? 0 : 1);
    CHECK(whole);
    REQUIRE(went_well(forking.child));
  }
  brimful_pool_release(pool);
}

struct busy {
  brimful_pool *pool;
  int stop;
  unsigned bodies;
};

static void *keeps_the_pool_busy(void *context)
{
  struct busy *busy = context;
  while (!__atomic_load_n(&busy->stop, __ATOMIC_ACQUIRE)) {
    struct source source = SOURCE(100);
    brimful_buffer *buffer;
    if (brimful_collect(busy->pool, NULL, source_read, &source, &buffer, NULL) == BRIMFUL_OK)
      brimful_buffer_release(buffer);
    busy->bodies++;
  }
  return NULL;
}

TEST(a_child_that_is_forked_while_another_thread_is_in_the_pool_works_a_thousand_times)
{
  if (check_under_tool())
    SKIP("what the other thread holds at the fork is lost in the child, which valgrind calls a leak");
  brimful_pool *own = new_pool(0);
  for (int which = 0; which < 2; which++) { /* the default pool too */
    struct busy busy = { which == 0 ? own : NULL, 0, 0 };
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, keeps_the_pool_busy, &busy) == 0);
    for (unsigned i = 0; i < times(); i++) {
      pid_t child = fork();
      if (child == 0) {
        brimful_pool_statistics statistics = { .struct_size = sizeof statistics };
        int good = works(busy.pool, 20000) && works(busy.pool, 100);
        brimful_pool_trim(busy.pool, 0);
        good = good && brimful_pool_stats(busy.pool, &statistics) == BRIMFUL_OK;
        _exit(good ? 0 : 1);
      }
      REQUIRE(went_well(child));
    }
    __atomic_store_n(&busy.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(busy.bodies > 0);
  }
  brimful_pool_release(own);
}

/* Runs a program that lies beside this one and gives its last line. */
static int run_beside(const char *command, char *line, size_t size)
{
  char path[3000], last[256] = "";
  ssize_t length = readlink("/proc/self/exe", path, sizeof path / 2);
  FILE *output;
  if (length < 0)
    return -1;
  while (length > 0 && path[length - 1] != '/')
    length--;
  snprintf(path + length, sizeof path - (size_t)length, "%s", command);
  output = popen(path, "r");
  if (output == NULL)
    return -1;
  while (fgets(last, sizeof last, output) != NULL)
    ;
  last[strcspn(last, "\n")] = '\0';
  snprintf(line, size, "%s", last);
  return pclose(output);
}

TEST(the_library_is_loaded_used_on_threads_and_unloaded_a_hundred_times)
{
  char command[1200], line[256];
  if (check_under_tool())
    SKIP("has run without it");
  snprintf(command, sizeof command, "unload %s", SHARED_LIBRARY);
  SAME(run_beside(command, line, sizeof line), 0);
  CHECK(strcmp(line, "100 times loaded, 0 times still mapped afterwards") == 0);
  if (strcmp(line, "100 times loaded, 0 times still mapped afterwards") != 0)
    printf("  %s\n", line);
}

TEST(in_an_event_loop_with_a_flooding_peer_the_quiet_one_is_served_within_one_step)
{
  char line[256];
  unsigned long flood = 0, most = 0, step = 0;
  if (check_under_tool())
    SKIP("has run without it");
  SAME(run_beside("epoll", line, sizeof line), 0);
  int fields = sscanf(line, "served after at most %lu bytes of the flood (step %lu, flood %lu)", &most, &step, &flood);
  CHECK(fields == 3 && most <= step && flood > 100 * step);
  if (fields != 3 || most > step)
    printf("  %s\n", line);
}

TEST(messages_pass_a_queue_between_two_threads_into_collectors_and_the_sender_is_held_at_its_capacity)
{
  char line[256];
  if (check_under_tool())
    SKIP("has run without it");
  SAME(run_beside("queue", line, sizeof line), 0);
  CHECK(strcmp(line, "40 messages, 40 right, 64000140 bytes, 0 copied, at most 1 MiB waited") == 0);
  if (strstr(line, "40 right") == NULL)
    printf("  %s\n", line);
}
