/* transport/store/postgres/postgres_wait.h -- waits for a server that may have stopped to answer. */
#ifndef WF_STORE_POSTGRES_WAIT_H
#define WF_STORE_POSTGRES_WAIT_H

#include <libpq-fe.h>
#include <stdbool.h>

/* Blocks until PQgetResult would not block, and sends meanwhile what libpq still has to send. `pg` is in libpq's mode that
 * does not block. `silence`: for how many ms the server may neither send nor take a byte; -1: no limit. Returns false if it
 * was silent for longer. A connection that is lost is no silence: PQgetResult says so. */
bool pq_wait_for_result(PGconn *pg, int silence);

#endif
