/* transport/store/postgres/postgres_url.h -- what comes after "postgres:". */
#ifndef WF_STORE_POSTGRES_URL_H
#define WF_STORE_POSTGRES_URL_H

#include <libpq-fe.h>
#include <stddef.h>

/* What libpq connects to: "//HOST/DB" is the end of a URL, anything else is given to libpq as it is. NULL: no memory. */
char *pq_where(const char *text);
/* Its words, for PQconninfoFree. NULL: it is none. A password in a URL whose '@' or '/' is not escaped would be taken for a
 * part of something that is shown, so such a URL is none. */
PQconninfoOption *pq_words(const char *where);
/* What messages say of it, without passwords: "postgres:USER@HOST:PORT/DB". */
void pq_show(const char *text, char *out, size_t size);

#endif
