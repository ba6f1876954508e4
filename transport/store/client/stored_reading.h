/* transport/store/client/stored_reading.h -- the reader of a stored topic, for one subscriber. */
#ifndef WF_STORED_READING_H
#define WF_STORED_READING_H

#include <weft/pid.h>

#include "store_messages.h"

/* The argument of a reader. */
struct wf_stored_reading {
    char topic[256];
    weft_pid subscriber;
    uint64_t epoch;  /* 0: the epoch of the first page */
    uint64_t next;   /* 0: the first record that exists */
    char store[97];  /* "weft.store@NODE": this store; the reader ends with it. "": the store with the global name */
    char cursor[65]; /* "": none. Else the reader begins where that cursor is, if it was ever advanced */
};

/* Sends the subscriber a WEFT_STORED message, and waits for space in its mailbox. Errors: the subscriber has ended,
 * there is no memory, or the caller is stopped. */
int wf_stored_tell(weft_pid subscriber, const struct store_news *news);

/* A weft_actor: sends the subscriber WEFT_STORED messages until either ends, or the log cannot be read any more. */
void wf_stored_reader(const void *reading, size_t size);

#endif
