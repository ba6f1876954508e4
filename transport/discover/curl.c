/* transport/discover/curl.c -- loads libcurl, or names its functions to the linker. */
#include "curl.h"

#include "carrier.h"

#include <stdio.h>
#include <weft.h>

#ifdef WF_CURL_FILE
#include "platform.h"

int wf_curl_load(struct wf_curl *table, char *why)
{
    char fault[WF_REASON_TEXT];
    const struct pf_library_row rows[] = {
        {"curl_global_init", &table->global_init},
        {"curl_easy_init", &table->easy_init},
        {"curl_easy_cleanup", &table->easy_cleanup},
        {"curl_easy_setopt", &table->easy_setopt},
        {"curl_easy_getinfo", &table->easy_getinfo},
        {"curl_easy_strerror", &table->easy_strerror},
        {"curl_multi_init", &table->multi_init},
        {"curl_multi_cleanup", &table->multi_cleanup},
        {"curl_multi_add_handle", &table->multi_add_handle},
        {"curl_multi_remove_handle", &table->multi_remove_handle},
        {"curl_multi_perform", &table->multi_perform},
        {"curl_multi_info_read", &table->multi_info_read},
        {"curl_multi_poll", &table->multi_poll},
        {"curl_multi_wakeup", &table->multi_wakeup},
        {"curl_slist_append", &table->slist_append},
        {"curl_slist_free_all", &table->slist_free_all},
    };
    if (pf_library(WF_CURL_FILE, rows, sizeof rows / sizeof *rows, fault, sizeof fault)) return WEFT_OK;
    snprintf(why, WF_REASON_TEXT, "libcurl, which etcd needs, cannot be loaded: %.110s", fault);
    return WEFT_EADDRESS;
}
#else
/* curl.h's macros of these names check the types of arguments, and are no functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

int wf_curl_load(struct wf_curl *table, char *why)
{
    (void)why;
    *table = (struct wf_curl){
        .global_init = curl_global_init,
        .easy_init = curl_easy_init,
        .easy_cleanup = curl_easy_cleanup,
        .easy_setopt = curl_easy_setopt,
        .easy_getinfo = curl_easy_getinfo,
        .easy_strerror = curl_easy_strerror,
        .multi_init = curl_multi_init,
        .multi_cleanup = curl_multi_cleanup,
        .multi_add_handle = curl_multi_add_handle,
        .multi_remove_handle = curl_multi_remove_handle,
        .multi_perform = curl_multi_perform,
        .multi_info_read = curl_multi_info_read,
        .multi_poll = curl_multi_poll,
        .multi_wakeup = curl_multi_wakeup,
        .slist_append = curl_slist_append,
        .slist_free_all = curl_slist_free_all,
    };
    return WEFT_OK;
}
#endif
