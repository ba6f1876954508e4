/* transport/store/postgres/postgres_relay.h -- stands between libpq and the server, so that the wait for an answer, and what
 * libpq keeps of it, have limits.
 *
 * Design notes.
 * (1) libpq can wait with a deadline since version 17 only.
 * (2) libpq reads a message, and all rows of a result, whatever their sizes: a server can fill the memory, and on the same
 *     machine within one call, as libpq reads while more comes. So the descriptor that libpq knows is one end of a pair of
 *     sockets, and the connection to the server is here. Bytes are passed on in the thread that waits, and counted. With TLS
 *     they are those of TLS. Appends of 1, 64 and 512 publishers are as many as without it, within the spread of runs.
 * (3) libpq keeps the last value of each setting that a server reports, whatever its name, until the connection ends. So
 *     these messages are counted over the life of the connection. With TLS they cannot be seen here. */
#ifndef WF_STORE_POSTGRES_RELAY_H
#define WF_STORE_POSTGRES_RELAY_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the settings that a server may report on one connection. It reports a dozen at the beginning, and then those that
 * change, which is when an administrator changes them. */
enum { PQ_SETTINGS_MAX = 1024 * 1024 };

/* PQ_SETTINGS: more than PQ_SETTINGS_MAX have come. */
enum pq_waited { PQ_CAME, PQ_SILENT, PQ_TOO_MUCH, PQ_SETTINGS };

struct pq_relay;

/* Takes the server's socket of a connection that was just made, and is in libpq's mode that does not block. NULL: no memory,
 * or no descriptor. */
struct pq_relay *pq_relay_new(PGconn *pg);
/* After PQfinish: passes on what libpq has sent at last, and closes the socket. NULL is fine. */
void pq_relay_free(struct pq_relay *r);

/* Both pass on as much as possible at once: of what libpq has sent; of what has come from the server, for PQconsumeInput, but
 * no more than `*space` bytes, which is less by them at the return. pq_relay_take returns false if more than PQ_SETTINGS_MAX
 * has come. */
void pq_relay_send(struct pq_relay *r);
bool pq_relay_take(struct pq_relay *r, size_t *space);
/* Blocks until PQgetResult would not block, and sends meanwhile what libpq still has to send. `silence`: for how many ms the
 * server may neither send nor take a byte; -1: no limit. `*space`: how many bytes may come, as above. A connection that is
 * lost is PQ_CAME: PQgetResult says so. */
enum pq_waited pq_relay_wait(struct pq_relay *r, PGconn *pg, int silence, size_t *space);

#endif
