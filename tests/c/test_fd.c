/* Bodies from file descriptors: sockets that do not block, files, signals, shares of a call. */
#include "check.h"
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void new_sockets(int ends[2])
{
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
    abort();
}

static void send_painted(int fd, uint64_t offset, size_t length)
{
  unsigned char *bytes = malloc(length);
  paint(bytes, offset, length);
  if (write(fd, bytes, length) != (ssize_t)length)
    abort();
  free(bytes);
}

TEST(a_socket_that_has_nothing_suspends_the_body_and_it_goes_on_when_more_has_come)
{
  static const size_t pieces[] = { 1, 4096, 3, 50000, 16384, 1 };
  for (int into = 0; into < 2; into++) {
    static unsigned char target[80000];
    brimful_collector *collector;
    brimful_buffer *buffer;
    uint64_t at = 0;
    int ends[2];
    new_sockets(ends);
    REQUIRE((into ? brimful_collector_new_into(NULL, target, sizeof target, &collector)
                  : brimful_collector_new(NULL, NULL, &collector)) == BRIMFUL_OK);
    STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_PENDING);
    for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
      send_painted(ends[1], at, pieces[i]); /* only after EAGAIN was seen */
      at += pieces[i];
      STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_PENDING);
      SAME(info_of(collector).received, at);
    }
    close(ends[1]);
    STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_OK);
    SAME(info_of(collector).pendings, ARRAY_LENGTH(pieces) + 1);
    if (into)
      CHECK(is_painted(target, 0, at));
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, at));
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    CHECK(fcntl(ends[0], F_GETFD) >= 0); /* it stays the caller's */
    close(ends[0]);
  }
}

TEST(no_byte_beyond_the_length_is_read_so_that_the_next_value_stays_in_the_descriptor)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  brimful_collector *collector;
  brimful_buffer *buffer;
  int ends[2];
  new_sockets(ends);
  options.length = 1000;
  REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
  for (int value = 0; value < 3; value++)
    send_painted(ends[1], 0, 1000);
  for (int value = 0; value < 3; value++) {
    STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_OK);
    STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 1000));
    brimful_buffer_release(buffer);
    STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
  }
  STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_PENDING);
  close(ends[1]);
  STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_ERR_SHORT);
  brimful_collector_free(collector);
  close(ends[0]);
}

static FILE *new_file(size_t length)
{
  FILE *file = tmpfile();
  unsigned char *bytes = malloc(length);
  if (file == NULL || bytes == NULL)
    abort();
  paint(bytes, 0, length);
  if (fwrite(bytes, 1, length, file) != length || fflush(file) != 0 || lseek(fileno(file), 0, SEEK_SET) != 0)
    abort();
  free(bytes);
  return file;
}

TEST(a_file_s_size_from_where_it_stands_is_a_hint_and_no_more)
{
  for (int grows = 0; grows < 2; grows++) {
    FILE *file = new_file(300000);
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    brimful_pool *pool = new_pool(0);
    brimful_collector *collector;
    void *data;
    size_t length;
    options.prefer = BRIMFUL_PREFER_EXACT;
    options.max_window = 100000;
    options.max_step = 200000; /* so that there is a time at which the file can grow */
    REQUIRE(brimful_collector_new(pool, &options, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_read_fd(collector, fileno(file)), BRIMFUL_MORE);
    SAME(info_of(collector).expected, BRIMFUL_UNKNOWN);
    SAME(info_of(collector).allocated_bytes, 300000); /* at once, by the hint */
    if (grows)
      CHECK(ftruncate(fileno(file), 300100) == 0);
    STATUS(brimful_collector_read_fd(collector, fileno(file)), BRIMFUL_OK);
    SAME(info_of(collector).length, 300000 + 100 * grows);
    STATUS(brimful_collector_finish_exact(collector, &data, &length), BRIMFUL_OK);
    CHECK(length == (size_t)(300000 + 100 * grows) && is_painted(data, 0, 300000));
    if (!grows)
      SAME(info_of(collector).copied, 0);
    free(data);
    brimful_collector_free(collector);
    brimful_pool_release(pool);
    fclose(file);
  }
}

TEST(the_hint_of_one_file_does_not_go_with_the_collector_to_the_next)
{
  FILE *large = new_file(1000000), *small = new_file(10);
  brimful_pool *pool = new_pool(BRIMFUL_POOL_LIST);
  brimful_collector *collector;
  REQUIRE(brimful_collector_new(pool, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_read_fd(collector, fileno(large)), BRIMFUL_OK);
  STATUS(brimful_collector_reset(collector, NULL), BRIMFUL_OK);
  brimful_pool_trim(pool, 0);
  STATUS(brimful_collector_read_fd(collector, fileno(small)), BRIMFUL_OK);
  SAME(info_of(collector).length, 10);
  brimful_collector_free(collector);
  brimful_pool_release(pool);
  fclose(large);
  fclose(small);
}

TEST(the_system_s_own_error_is_the_source_s_and_what_is_no_collector_is_invalid)
{
  brimful_collector *collector;
  brimful_buffer *buffer;
  static const int none[] = { -1, INT32_MIN, INT32_MAX };
  for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
    REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
    STATUS(brimful_collector_write(collector, "", 1, NULL), BRIMFUL_OK);
    STATUS(brimful_collector_read_fd(collector, none[i]), BRIMFUL_ERR_SOURCE);
    SAME(info_of(collector).source_error, -EBADF);
    STATUS(brimful_collector_read_fd(collector, none[i]), BRIMFUL_ERR_SOURCE);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 1));
    brimful_buffer_release(buffer);
    STATUS(brimful_collector_read_fd(collector, 0), BRIMFUL_ERR_STATE);
    brimful_collector_free(collector);
  }
  STATUS(brimful_collector_read_fd(NULL, 0), BRIMFUL_ERR_INVALID);
}

static brimful_status reads_its_descriptor(void *context, void *window, size_t room, size_t *filled)
{
  (void)window;
  (void)room;
  (void)filled;
  STATUS(brimful_collector_read_fd(context, 0), BRIMFUL_ERR_BUSY);
  return BRIMFUL_OK;
}

TEST(a_descriptor_is_not_read_from_inside_the_collector_s_own_callback)
{
  brimful_collector *collector;
  REQUIRE(brimful_collector_new(NULL, NULL, &collector) == BRIMFUL_OK);
  STATUS(brimful_collector_read(collector, reads_its_descriptor, collector), BRIMFUL_OK);
  STATUS(brimful_collector_read_fd(collector, -1), BRIMFUL_OK); /* complete: nothing is read */
  brimful_collector_free(collector);
}

/* Sends signals to a thread that blocks in read(2), and triggers a cancel object before one of the last. */
struct kicking {
  pthread_t reader;
  brimful_cancel *cancel;
  int writer;
};

static void nothing(int number)
{
  (void)number;
}

static void *kicks(void *context)
{
  struct kicking *kicking = context;
  for (int i = 0; i < 12; i++) {
    usleep(5000);
    if (i == 8 && kicking->cancel != NULL)
      brimful_cancel_trigger(kicking->cancel);
    if (i == 8 && kicking->cancel == NULL)
      close(kicking->writer);
    pthread_kill(kicking->reader, SIGUSR1);
  }
  return NULL;
}

TEST(a_signal_does_not_end_a_body_on_a_quiet_pipe_but_lets_a_cancel_object_be_seen)
{
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = nothing; /* without SA_RESTART: read(2) answers EINTR */
  sigaction(SIGUSR1, &action, &before);
  for (int cancels = 0; cancels < 2; cancels++) {
    brimful_options options = BRIMFUL_OPTIONS_INIT;
    struct kicking kicking = { pthread_self(), NULL, -1 };
    brimful_collector *collector;
    brimful_buffer *buffer;
    pthread_t thread;
    int pipes[2];
    REQUIRE(pipe(pipes) == 0);
    send_painted(pipes[1], 0, 1000);
    if (cancels)
      REQUIRE(brimful_cancel_new(&options.cancel) == BRIMFUL_OK);
    REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
    kicking.cancel = options.cancel;
    kicking.writer = pipes[1];
    REQUIRE(pthread_create(&thread, NULL, kicks, &kicking) == 0);
    STATUS(brimful_collector_read_fd(collector, pipes[0]), cancels ? BRIMFUL_ERR_CANCELLED : BRIMFUL_OK);
    pthread_join(thread, NULL);
    STATUS(brimful_collector_take_partial(collector, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 1000)); /* what came is there */
    brimful_buffer_release(buffer);
    brimful_collector_free(collector);
    brimful_cancel_release(options.cancel);
    close(pipes[0]);
    if (cancels)
      close(pipes[1]);
  }
  sigaction(SIGUSR1, &before, NULL);
}

TEST(one_call_takes_its_share_answers_more_and_asks_for_no_byte_beyond_it)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct source source = SOURCE(100000);
  brimful_collector *collector;
  brimful_buffer *buffer;
  int ends[2];
  options.max_step = 30000;
  REQUIRE(brimful_collector_new(NULL, &options, &collector) == BRIMFUL_OK);
  for (int call = 1; call <= 3; call++) {
    STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_MORE);
    SAME(source.given, 30000 * call);
  }
  STATUS(brimful_collector_read(collector, source_read, &source), BRIMFUL_OK);
  STATUS(brimful_collector_finish(collector, &buffer), BRIMFUL_OK);
  CHECK(buffer_is_painted(buffer, 100000));
  brimful_buffer_release(buffer);

  new_sockets(ends);
  options.max_step = 1;
  STATUS(brimful_collector_reset(collector, &options), BRIMFUL_OK);
  send_painted(ends[1], 0, 3);
  for (uint64_t call = 1; call <= 3; call++) {
    STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_MORE);
    SAME(info_of(collector).received, call);
  }
  STATUS(brimful_collector_read_fd(collector, ends[0]), BRIMFUL_PENDING);
  brimful_collector_free(collector);
  close(ends[0]);
  close(ends[1]);
}

TEST(a_one_shot_call_whose_share_is_used_hands_the_collector_out_as_a_pending_one_does)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  for (int way = 0; way < 6; way++) {
    struct source source = SOURCE(5000);
    brimful_collector *rest = NULL, **place = way % 2 == 0 ? &rest : NULL;
    brimful_status expected = way % 2 == 0 ? BRIMFUL_MORE : BRIMFUL_ERR_STATE;
    unsigned char target[5000];
    brimful_buffer *buffer;
    void *data;
    size_t length;
    options.max_step = 2000;
    if (way / 2 == 0)
      STATUS(brimful_collect(NULL, &options, source_read, &source, &buffer, place), expected);
    if (way / 2 == 1)
      STATUS(brimful_collect_exact(NULL, &options, source_read, &source, &data, &length, place), expected);
    if (way / 2 == 2) {
      STATUS(brimful_collect_into(&options, source_read, &source, target, sizeof target, &length, place), expected);
      CHECK(length == 2000 && is_painted(target, 0, 2000));
    }
    SAME(source.given, 2000);
    if (place == NULL)
      continue;
    STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_MORE);
    STATUS(brimful_collector_read(rest, source_read, &source), BRIMFUL_OK);
    STATUS(brimful_collector_finish(rest, &buffer), BRIMFUL_OK);
    CHECK(buffer_is_painted(buffer, 5000));
    brimful_buffer_release(buffer);
    brimful_collector_free(rest);
  }
}
