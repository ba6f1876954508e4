/* transport/store/postgres/postgres_wait.c -- see postgres_wait.h. libpq can wait with a deadline since version 17 only. */
#include <poll.h>

#include "postgres_wait.h"

/* The error of a call that fails is in the result that comes next. */
bool pq_wait_for_result(PGconn *pg, int silence)
{
    for (;;) {
        bool unsent = PQflush(pg) > 0;
        struct pollfd on = {.fd = PQsocket(pg), .events = (short)(unsent ? POLLIN | POLLOUT : POLLIN)};
        if (PQisBusy(pg) == 0 || on.fd < 0) return true;
        int ready = poll(&on, 1, silence);
        if (ready == 0) return false;
        if (ready > 0 && PQconsumeInput(pg) == 0) return true;
    }
}
