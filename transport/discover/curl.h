/* transport/discover/curl.h -- the functions of libcurl that etcd_http.c calls.
 *
 * libcurl brings 25 other libraries with it, which take 5 MiB of memory and a millisecond at the start of each process.
 * So libweft is not linked with it where a process can load it when it first uses etcd (WF_CURL_FILE is the name of its
 * file then). Elsewhere the linker fills the table. */
#ifndef WF_CURL_H
#define WF_CURL_H

#include <curl/curl.h>

struct wf_curl {
    CURLcode (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned count, int timeout_ms, int *ready);
    CURLMcode (*multi_wakeup)(CURLM *multi);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

/* Fills `table`. WEFT_OK; or WEFT_EADDRESS if libcurl cannot be loaded, and `why` (WF_REASON_TEXT bytes) says which file
 * is missing. Any thread; the file is read. libcurl stays loaded. */
int wf_curl_load(struct wf_curl *table, char *why);

#endif
