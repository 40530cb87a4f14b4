#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_OF_A_MESSAGE 1000000 /* of one that is looked at as a whole: none of them is large */

static enum event lose(struct connection *connection, const char *what, const char *why)
{
  snprintf(connection->text, sizeof connection->text, "%s%s%s", what, why == NULL ? "" : ": ", why == NULL ? "" : why);
  connection->reading = LOST;
  return EVENT_LOST;
}

static enum event lose_by(struct connection *connection, brimful_status status)
{
  switch (status) {
  case BRIMFUL_ERR_SHORT:
    return lose(connection, "the server has closed the connection", NULL);
  case BRIMFUL_ERR_SOURCE:
    return lose(connection, "the connection failed", strerror(errno));
  case BRIMFUL_ERR_CONTRACT:
    return lose(connection, "the server does not keep to the protocol", "a length in a row cannot be");
  case BRIMFUL_ERR_LIMIT:
    return lose(connection, "the server does not keep to the protocol", "a message that is no row has more than 1 MB");
  default:
    return lose(connection, brimful_status_text(status), NULL);
  }
}

/* ---- connecting */

static void start(struct connection *connection, const struct account *account)
{
  struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found;
  struct output *output = &connection->output;
  int error = getaddrinfo(account->address, account->port, &hints, &found);
  if (error != 0) {
    lose(connection, "the address", gai_strerror(error));
    return;
  }
  connection->input.socket = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection->input.socket < 0)
    lose(connection, "socket", strerror(errno));
  /* A socket that is still connecting answers EAGAIN to send and recv, and they tell when it could not. */
  else if (connect(connection->input.socket, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    lose(connection, "connect", strerror(errno));
  freeaddrinfo(found);

  output_begin(output, 0);
  output_number32(output, 3 << 16); /* version 3.0 of the protocol */
  output_text(output, "user");
  output_text(output, account->user);
  output_text(output, "database");
  output_text(output, account->database == NULL ? account->user : account->database);
  output_text(output, "client_encoding");
  output_text(output, "UTF8");
  output_text(output, "");
  output_end(output);
}

struct connection *connection_open(const struct account *account, brimful_pool *pool)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  struct connection *connection = calloc(1, sizeof *connection);
  if (connection == NULL)
    return NULL;
  connection->input.socket = -1;
  connection->authentication.password = account->password;
  options.limit = MOST_OF_A_MESSAGE;
  if (brimful_collector_new(pool, &options, &connection->message) != BRIMFUL_OK ||
      brimful_collector_new(pool, NULL, &connection->row.collector) != BRIMFUL_OK) {
    connection_free(connection);
    return NULL;
  }
  start(connection, account);
  return connection;
}

void connection_free(struct connection *connection)
{
  if (connection == NULL)
    return;
  if (connection->ready && connection->reading != LOST) { /* goodbye, where it goes at once */
    output_begin(&connection->output, 'X');
    output_end(&connection->output);
    output_send(&connection->output, connection->input.socket);
  }
  if (connection->input.socket >= 0)
    close(connection->input.socket);
  brimful_collector_free(connection->message);
  brimful_collector_free(connection->row.collector);
  free(connection->output.bytes);
  free(connection);
}

/* ---- asking */

brimful_status connection_query(struct connection *connection, const char *sql, enum query_format format,
                                const brimful_options *options)
{
  struct output *output = &connection->output;
  if (!connection->ready || connection->reading == LOST)
    return BRIMFUL_ERR_STATE;
  brimful_status status = row_options(&connection->row, options);
  if (status != BRIMFUL_OK)
    return status;
  connection->ready = 0;
  if (format == QUERY_SIMPLE) {
    output_begin(output, 'Q');
    output_text(output, sql);
    output_end(output);
    return BRIMFUL_OK;
  }
  output_begin(output, 'P'); /* parse: the unnamed statement, no types of parameters */
  output_text(output, "");
  output_text(output, sql);
  output_number16(output, 0);
  output_end(output);
  output_begin(output, 'B'); /* bind: the unnamed portal, no parameters, one format for all columns */
  output_text(output, "");
  output_text(output, "");
  output_number16(output, 0);
  output_number16(output, 0);
  output_number16(output, 1);
  output_number16(output, format == QUERY_BINARY);
  output_end(output);
  output_begin(output, 'E'); /* execute: all rows */
  output_text(output, "");
  output_number32(output, 0);
  output_end(output);
  output_begin(output, 'S'); /* sync: after an error too, the server is ready from here on */
  output_end(output);
  return BRIMFUL_OK;
}

short connection_wants(const struct connection *connection)
{
  return connection->output.sent < connection->output.length ? POLLIN | POLLOUT : POLLIN;
}

uint64_t connection_received(const struct connection *connection)
{
  brimful_info info = { .struct_size = sizeof info };
  brimful_collector_info(connection->row.collector, &info);
  return connection->reading == IN_ROW && connection->row.next == ROW_VALUE ? info.received : 0;
}

/* ---- messages that are looked at as a whole */

/* The field of an error message that is called `name`; fields are a letter and a text each. */
static const char *error_field(const char *body, size_t length, char name)
{
  size_t at = 0, field;
  while (at < length && body[at] != '\0') {
    field = strnlen(body + at, length - at);
    if (at + field == length)
      break; /* without its NUL */
    if (body[at] == name)
      return body + at + 1;
    at += field + 1;
  }
  return "";
}

static enum event message_came(struct connection *connection, const char *body, size_t length)
{
  switch (connection->type) {
  case 'R': {
    const char *wrong = authentication_answer(&connection->authentication, body, length, &connection->output);
    return wrong == NULL ? EVENT_WAIT : lose(connection, "could not log in", wrong);
  }
  case 'E':
    snprintf(connection->text, sizeof connection->text, "%s %s: %s", error_field(body, length, 'S'),
             error_field(body, length, 'C'), error_field(body, length, 'M'));
    return EVENT_ERROR;
  case 'G': /* the server waits for data of COPY FROM STDIN */
    output_begin(&connection->output, 'f');
    output_text(&connection->output, "this client sends no data");
    output_end(&connection->output);
    return EVENT_WAIT;
  default: /* 'Z' */
    connection->ready = 1;
    return EVENT_READY;
  }
}

static enum event take_message(struct connection *connection)
{
  brimful_buffer *buffer;
  const void *body;
  size_t length;
  enum event event;
  brimful_status status = brimful_collector_finish(connection->message, &buffer);
  if (status != BRIMFUL_OK)
    return lose_by(connection, status);
  status = brimful_buffer_data(buffer, &body, &length);
  event = status == BRIMFUL_OK ? message_came(connection, body, length) : lose_by(connection, status);
  brimful_buffer_release(buffer);
  return event;
}

/* ---- the stream of messages */

/* A type and a length, which counts itself. */
static brimful_status begin_message(struct connection *connection)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  const unsigned char *head;
  brimful_status status = input_field(&connection->input, 5, &head);
  if (status != BRIMFUL_OK)
    return status;
  connection->type = (char)head[0];
  uint32_t length = number32(head + 1);
  if (length < 4 || length > INT32_MAX)
    return BRIMFUL_ERR_CONTRACT;
  connection->left = length - 4;
  switch (connection->type) {
  case 'D': /* a row */
    row_begin(&connection->row, connection->left);
    connection->reading = IN_ROW;
    return BRIMFUL_OK;
  case 'E': case 'G': case 'R': case 'Z':
    options.limit = MOST_OF_A_MESSAGE;
    options.length = connection->left;
    connection->reading = IN_BODY;
    return brimful_collector_reset(connection->message, &options);
  default: /* names of columns, settings, notices, data of COPY: not looked at */
    connection->reading = IN_REST;
    return BRIMFUL_OK;
  }
}

/* One step; OK with EVENT_WAIT in *event means that another one can follow. */
static brimful_status step(struct connection *connection, struct value *value, enum event *event)
{
  brimful_status status;
  int given;
  switch (connection->reading) {
  case IN_HEAD:
    return begin_message(connection);
  case IN_ROW:
    status = row_next(&connection->row, &connection->input, value, &given);
    if (status == BRIMFUL_OK && given)
      *event = EVENT_VALUE;
    else if (status == BRIMFUL_OK)
      connection->reading = IN_HEAD;
    return status;
  case IN_BODY:
    status = input_collect(&connection->input, connection->message, &connection->left);
    if (status == BRIMFUL_OK) {
      connection->reading = IN_HEAD;
      *event = take_message(connection);
    }
    return status;
  case IN_REST:
    status = input_skip(&connection->input, &connection->left);
    if (status == BRIMFUL_OK)
      connection->reading = IN_HEAD;
    return status;
  default:
    *event = EVENT_LOST;
    return BRIMFUL_OK;
  }
}

enum event connection_next(struct connection *connection, struct value *value)
{
  for (;;) {
    enum event event = EVENT_WAIT;
    /* What is due is sent first. That the server does not take it (any more) is no reason not to read what it says. */
    brimful_status sent =
        connection->reading == LOST ? BRIMFUL_OK : output_send(&connection->output, connection->input.socket);
    int error = errno;
    brimful_status status = step(connection, value, &event);
    if (event != EVENT_WAIT)
      return event;
    if (status != BRIMFUL_OK && sent < BRIMFUL_OK) { /* why it could not be sent says more than that nothing comes */
      errno = error;
      return lose_by(connection, sent);
    }
    if (status < BRIMFUL_OK)
      return lose_by(connection, status);
    if (status > BRIMFUL_OK)
      return EVENT_WAIT;
  }
}
