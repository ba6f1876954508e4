/* cli/client/pages.h -- the long lists of a node, page by page. */
#ifndef CLI_PAGES_H
#define CLI_PAGES_H

#include "client.h"

/* The lists of the verbs PS, NAMES and GROUPS. */
struct cli_pages {
    uint32_t verb;
    const char *kind, *prefix; /* only these; NULL: all. A node that knows no pages heeds neither */
    uint32_t most;             /* rows of a page; 0: as many as the node sends */
    bool silent;               /* nothing is printed before the last page has come */
    int64_t until; /* when the next rows have to be there, for a verb without --timeout; 0: not yet known */
    uint8_t next[64];
    size_t next_size;
    uint64_t rows_seen, bytes_seen; /* of all pages */
    bool last;                      /* there is no other page */
    uint32_t count;                 /* how many rows this page has; each row is an array */
    weft_reader rows;               /* at the first one, in `*m` */
};
enum { CLI_ROWS_MAX = (1 << 24) - 1 }; /* as many actors as one worker can have */
#define CLI_ROWS_BYTES_MAX ((uint64_t)4 << 30)
/* [A] The next page; `p` is zero but for what is wanted at first. CLI_OK and `*m`, to be freed; else an exit code
 * after a message. A node that is broken or that lies cannot keep a verb waiting: without --timeout each page has 5 s,
 * and all pages in a row from which nothing is printed have a minute. All pages together have at most CLI_ROWS_MAX rows
 * and CLI_ROWS_BYTES_MAX bytes. */
int cli_page(struct cli_client *k, struct cli_pages *p, weft_msg **m);

#endif
