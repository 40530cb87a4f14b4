/*
 * A connection to a PostgreSQL server that never blocks: connect, log in, query, and read the values.
 *
 *     connection_query(connection, "SELECT body FROM files WHERE id = 7", QUERY_BINARY, &options);
 *     for (;;)
 *       switch (connection_next(connection, &value)) {
 *       case EVENT_WAIT:  poll(connection->input.socket, connection_wants(connection)); break;
 *       case EVENT_VALUE: use(&value); value_free(&value); break;
 *       case EVENT_ERROR: the query failed: connection->text; the connection goes on
 *       case EVENT_READY: the query has ended, and the connection is in step for the next one
 *       case EVENT_LOST:  the connection is of no more use: connection->text
 *       }
 *
 * Threads: by one thread at a time. It has no encryption: meant for servers on the same machine or network.
 */
#ifndef POSTGRES_CONNECTION_H
#define POSTGRES_CONNECTION_H

#include "authentication.h"
#include "input.h"
#include "output.h"
#include "value.h"

enum event {
  EVENT_WAIT,  /* until the socket can do what connection_wants tells */
  EVENT_VALUE, /* *value is the caller's, to be freed with value_free */
  EVENT_ERROR, /* text is the server's; EVENT_READY follows, or EVENT_LOST */
  EVENT_READY,
  EVENT_LOST,  /* text says why; nothing but connection_free is left */
};

enum query_format {
  QUERY_SIMPLE, /* any statements, also several; values as text, but from a binary cursor */
  QUERY_TEXT,   /* one statement by the extended protocol; values as text: bytea comes as hex, twice as long */
  QUERY_BINARY, /* one statement by the extended protocol; values as the server has them: bytea as it is */
};

struct connection {
  struct input input;
  struct output output;
  struct authentication authentication;
  struct row row;
  enum { IN_HEAD, IN_BODY, IN_ROW, IN_REST, LOST } reading; /* where in the server's stream of messages */
  char type;                   /* of the message that is being read */
  uint64_t left;               /* bytes of it that have not come */
  brimful_collector *message;  /* its body, where that is looked at as a whole */
  int ready;                   /* the server waits for a query */
  char text[1024];
};

struct account {
  const char *address, *port; /* numbers, since looking up a name would block */
  const char *user;
  const char *password; /* NULL: none. Must live as long as the connection logs in */
  const char *database; /* NULL: named like the user */
};

/* Begins to connect; EVENT_READY is the first event that is of interest. Values lie in memory of `pool`, NULL for the
   default one. Returns NULL without memory; what else goes wrong is EVENT_LOST. */
struct connection *connection_open(const struct account *account, brimful_pool *pool);

/* Sends a query; only after EVENT_READY. `options` are those of every value (limit, prefer, padding, cancel...); the
   length is the value's own. BRIMFUL_ERR_STATE: the connection is not ready. BRIMFUL_ERR_INVALID: an option. */
brimful_status connection_query(struct connection *connection, const char *sql, enum query_format format,
                                const brimful_options *options);

enum event connection_next(struct connection *connection, struct value *value);

/* What to poll for: POLLIN, or POLLIN | POLLOUT. The numbers of epoll are the same. */
short connection_wants(const struct connection *connection);

/* Bytes of the value that is being read. */
uint64_t connection_received(const struct connection *connection);

void connection_free(struct connection *connection);

#endif
