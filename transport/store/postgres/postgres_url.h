/* transport/store/postgres/postgres_url.h -- what comes after "postgres:". */
#ifndef WF_STORE_POSTGRES_URL_H
#define WF_STORE_POSTGRES_URL_H

#include <stddef.h>

/* What libpq connects to: "//HOST/DB" is the end of a URL, anything else is given to libpq as it is. NULL: no memory. */
char *pq_where(const char *text);
/* What messages say of it, without passwords: "postgres:USER@HOST:PORT/DB". */
void pq_show(const char *text, char *out, size_t size);

#endif
