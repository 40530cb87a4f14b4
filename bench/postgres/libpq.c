/* Reads values with libpq: HOW is `blocking` (PQexecParams), `single` (PQsendQueryParams in single-row mode on a
   connection that does not block), `text` (as blocking, values as text) or `simple` (PQexec). */
#include "measure.h"

#include <libpq-fe.h>
#include <poll.h>

static void print_all(struct measure *measure, const PGresult *result, uint64_t first)
{
  for (int row = 0; row < PQntuples(result); row++)
    for (int column = 0; column < PQnfields(result); column++)
      measure_value(measure, first + (uint64_t)row, column,
                    PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column),
                    (size_t)PQgetlength(result, row, column));
}

static void blocking(PGconn *connection, struct measure *measure)
{
  int binary = strcmp(measure->how, "text") != 0;
  PGresult *result = strcmp(measure->how, "simple") == 0
                         ? PQexec(connection, measure->query)
                         : PQexecParams(connection, measure->query, 0, NULL, NULL, NULL, NULL, binary);
  if (PQresultStatus(result) != PGRES_TUPLES_OK)
    measure_fail("libpq", PQerrorMessage(connection));
  print_all(measure, result, 0);
  PQclear(result);
}

static void wait_for(PGconn *connection, short events)
{
  struct pollfd socket = { PQsocket(connection), events, 0 };
  poll(&socket, 1, -1);
}

static void single(PGconn *connection, struct measure *measure)
{
  uint64_t row = 0;
  if (!PQsendQueryParams(connection, measure->query, 0, NULL, NULL, NULL, NULL, 1) || !PQsetSingleRowMode(connection))
    measure_fail("libpq", PQerrorMessage(connection));
  while (PQflush(connection) == 1)
    wait_for(connection, POLLOUT | POLLIN);
  for (;;) {
    while (PQisBusy(connection)) {
      wait_for(connection, POLLIN);
      if (!PQconsumeInput(connection))
        measure_fail("libpq", PQerrorMessage(connection));
    }
    PGresult *result = PQgetResult(connection);
    if (result == NULL)
      return;
    if (PQresultStatus(result) != PGRES_SINGLE_TUPLE && PQresultStatus(result) != PGRES_TUPLES_OK)
      measure_fail("libpq", PQerrorMessage(connection));
    print_all(measure, result, row++);
    PQclear(result);
  }
}

int main(int count, char **arguments)
{
  struct measure measure = measure_arguments(count, arguments);
  void (*read_all)(PGconn *, struct measure *) = strcmp(measure.how, "single") == 0 ? single : blocking;
  const char *names[] = { "host", "port", "user", "dbname", "sslmode", NULL };
  const char *values[] = { "127.0.0.1", measure.port, measure.user, measure.database, "disable", NULL };
  PGconn *connection = PQconnectdbParams(names, values, 0);
  if (PQstatus(connection) != CONNECTION_OK)
    measure_fail("libpq", PQerrorMessage(connection));
  if (read_all == single)
    PQsetnonblocking(connection, 1);
  long before = measure_peak();
  measure_begin(&measure);
  read_all(connection, &measure);
  if (measure.times > 0) {
    measure_first(&measure);
    for (long i = 0; i < measure.times; i++)
      read_all(connection, &measure);
    measure_end(&measure, before);
  }
  PQfinish(connection);
  return 0;
}
