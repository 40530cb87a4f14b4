/* Reads values with the example client: HOW is `exact` or `pooled`. */
#include "measure.h"

#include "../../examples/c/postgres/connection.h"

#include <poll.h>

static void wait_for(struct connection *connection)
{
  struct pollfd socket = { connection->input.socket, connection_wants(connection), 0 };
  poll(&socket, 1, -1);
}

static void use(struct measure *measure, struct value *value)
{
  const void *data = value->exact;
  size_t length = value->length;
  if (value->status != BRIMFUL_OK)
    measure_fail("brimful", brimful_status_text(value->status));
  if (value->pooled != NULL && brimful_buffer_data(value->pooled, &data, &length) != BRIMFUL_OK)
    measure_fail("brimful", "not in one piece");
  measure_value(measure, value->row, (int)value->column, data, length);
  value_free(value);
}

/* Until the connection is in step for the next query. */
static void read_all(struct connection *connection, struct measure *measure)
{
  struct value value;
  for (;;)
    switch (connection_next(connection, &value)) {
    case EVENT_WAIT:
      wait_for(connection);
      break;
    case EVENT_VALUE:
      use(measure, &value);
      break;
    case EVENT_READY:
      return;
    case EVENT_ERROR:
    case EVENT_LOST:
      measure_fail("brimful", connection->text);
    }
}

static void ask(struct connection *connection, struct measure *measure)
{
  brimful_options options = BRIMFUL_OPTIONS_INIT;
  options.prefer = strcmp(measure->how, "exact") == 0 ? BRIMFUL_PREFER_EXACT : BRIMFUL_PREFER_POOLED;
  brimful_status status = connection_query(connection, measure->query, QUERY_BINARY, &options);
  if (status != BRIMFUL_OK)
    measure_fail("brimful", brimful_status_text(status));
  read_all(connection, measure);
}

int main(int count, char **arguments)
{
  struct measure measure = measure_arguments(count, arguments);
  struct account account = { "127.0.0.1", measure.port, measure.user, NULL, measure.database };
  struct connection *connection = connection_open(&account, NULL);
  if (connection == NULL)
    measure_fail("brimful", "no memory");
  read_all(connection, &measure);
  long before = measure_peak();
  measure_begin(&measure);
  ask(connection, &measure);
  if (measure.times > 0) {
    measure_first(&measure);
    for (long i = 0; i < measure.times; i++)
      ask(connection, &measure);
    measure_end(&measure, before);
  }
  connection_free(connection);
  return 0;
}
