/* Any bytes as the answer of a DNS server: a size, an answer to a question for SRV records, then addresses for each
 * target in it. The results must be URLs that a node may dial. */
#include "fuzz.h"

#include <ares.h>
#include <netinet/in.h>

static struct input more;

static void fuzz_getaddrinfo(ares_channel channel, const char *name, const char *service,
                             const struct ares_addrinfo_hints *hints, ares_addrinfo_callback callback, void *arg);
static void fuzz_freeaddrinfo(struct ares_addrinfo *found);

/* The file itself, under other names than the library's own; its questions are answered here. */
#define ares_getaddrinfo fuzz_getaddrinfo
#define ares_freeaddrinfo fuzz_freeaddrinfo
#define wf_source_dns fuzz_source_dns
#define wf_source_dns_srv fuzz_source_dns_srv
#include "../../transport/discover/discover_dns.c"

static void fuzz_freeaddrinfo(struct ares_addrinfo *found)
{
    (void)found;
}

static void fuzz_getaddrinfo(ares_channel channel, const char *name, const char *service,
                             const struct ares_addrinfo_hints *hints, ares_addrinfo_callback callback, void *arg)
{
    struct sockaddr_storage address = {0};
    struct ares_addrinfo_node node = {.ai_addr = (struct sockaddr *)&address};
    struct ares_addrinfo found = {.nodes = &node};
    unsigned what = input_byte(&more);
    (void)channel;
    (void)service;
    (void)hints;
    MUST(name[0] != '\0');
    if (what == 255) {
        callback(arg, ARES_ENOTFOUND, 0, NULL);
        return;
    }
    node.ai_ttl = (int)(what << 24 | input_size(&more));
    node.ai_addrlen = what % 3 == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    address.ss_family = what % 3 == 0 ? AF_INET : what % 3 == 1 ? AF_INET6 : (sa_family_t)what;
    size_t at = what % 3 == 0 ? offsetof(struct sockaddr_in, sin_addr) : offsetof(struct sockaddr_in6, sin6_addr);
    for (size_t i = at; i < node.ai_addrlen; i++) ((uint8_t *)&address)[i] = (uint8_t)input_byte(&more);
    callback(arg, ARES_SUCCESS, 0, &found);
}

int fuzz_one_input(const uint8_t *data, size_t size)
{
    static const struct dns dns = {.host = "x", .scheme = "tcp"};
    more = (struct input){data, data + size};
    size_t answer_size = input_size(&more);
    uint8_t *answer = input_copy(&more, &answer_size);
    struct lookup l = {.dns = &dns, .pending = 1, .target = calloc(TARGETS_MAX, sizeof(struct target))};
    MUST(l.target != NULL);
    on_services(&l, ARES_SUCCESS, 0, answer, (int)answer_size);
    MUST(l.pending == 0 && l.targets <= TARGETS_MAX && l.ttl >= 0);
    for (size_t i = 0; i < l.list.count; i++) {
        struct pf_address a;
        MUST(strncmp(l.list.url[i], "tcp://", 6) == 0 && pf_address_parse(l.list.url[i] + 6, &a) == WEFT_OK);
        MUST(strncmp(l.list.url[i], "tcp://0.0.0.0:", 14) != 0 && strncmp(l.list.url[i], "tcp://[::]:", 11) != 0);
    }
    wf_url_list_finish(&l.list);
    free(l.target);
    free(answer);
    return 0;
}
