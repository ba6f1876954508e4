/* transport/store/postgres/postgres_connection.h -- connections to the server, and what is sent on them. */
#ifndef WF_STORE_POSTGRES_CONNECTION_H
#define WF_STORE_POSTGRES_CONNECTION_H

#include "postgres_store.h"

/* Connects, within `connect_timeout` for each host (5 s), and then within answer_timeout for each answer. On an error `why` (may be NULL) has what libpq says. Returns 0 or a WEFT_E*. */
int pq_connect(struct pq_connection *c, const struct pq_url *url, bool read_only, struct wf_store_why *why);
void pq_disconnect(struct pq_connection *c);
/* Whether the server has not closed it while nobody looked. */
bool pq_is_alive(struct pq_connection *c);

/* What libpq says of the last error, or that the server is silent. */
const char *pq_error_text(const struct pq_connection *c);
int pq_error(const PGresult *result); /* of an answer, as a WEFT_E* */

/* To be called after PQsend*, with its result: what was sent gets its answer later. Returns the first error so far. */
int pq_sent(struct pq_connection *c, int was_sent, enum pq_kind kind, struct pq_row *row);
/* The same for a statement that is not prepared, with numbers for its parameters, or without any. */
int pq_send_numbers(struct pq_connection *c, const char *text, const int64_t *numbers, int count, enum pq_kind kind);
int pq_send(struct pq_connection *c, const char *text);
/* Lets the server answer what was sent, and does not wait for it. */
void pq_push(struct pq_connection *c);
/* Waits for all answers. `last` (may be NULL) receives the last one, for PQclear, if there is no error. Returns the first
 * error since the transaction began. */
int pq_wait(struct pq_connection *c, PGresult **last);
void pq_forget_answers(struct pq_connection *c); /* to what was asked ahead */
/* Runs one statement at once, with numbers for its parameters. The same result. */
int pq_query(struct pq_connection *c, const char *text, const int64_t *numbers, int count, PGresult **out);
int64_t pq_number(const PGresult *result, int row, int column); /* 0: there is no such row or column */
void pq_put_number(char bytes[8], int64_t number);              /* as the server has it in binary */

#endif
