/* Requests over HTTP that come before the answering actor has begun. The linker replaces the server by the test. */
#include "metrics.h"
#include "web.h"

#include "../../actors/node_harness.h"

enum { READYZ = 4, MANY = 70 };

static struct wf_web_ask ask[MANY];
static int asked; /* so many, as soon as there is a server */
static bool no_actor;
static _Atomic int answered, refused;

static void forget(void)
{
    asked = 0;
    answered = 0;
    refused = 0;
    no_actor = false;
}

int __wrap_wf_web_start(struct wf_web **out, weft_node *node, const char *address, const char *const *paths,
                        int count, void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64],
                        const char **why);
int __wrap_wf_web_start(struct wf_web **out, weft_node *node, const char *address, const char *const *paths,
                        int count, void (*on_ask)(void *arg, struct wf_web_ask *ask), void *arg, char bound[64],
                        const char **why)
{
    (void)why, (void)node;
    ck_assert_str_eq(address, "127.0.0.1:9464");
    ck_assert_int_gt(count, READYZ);
    ck_assert_str_eq(paths[READYZ], "/readyz");
    snprintf(bound, 64, "%s", address);
    *out = (struct wf_web *)&ask; /* any, but not NULL */
    for (int i = 0; i < asked; i++) {
        ask[i].path = READYZ;
        on_ask(arg, &ask[i]);
    }
    return WEFT_OK;
}

void __wrap_wf_web_answer(struct wf_web_ask *a, int status, const char *type, const void *body, size_t size);
void __wrap_wf_web_answer(struct wf_web_ask *a, int status, const char *type, const void *body, size_t size)
{
    (void)a, (void)type, (void)body, (void)size;
    (*(status == 200 ? &answered : &refused))++;
}

void __wrap_wf_web_stop(struct wf_web *h);
void __wrap_wf_web_stop(struct wf_web *h)
{
    (void)h;
}

int __real_wf_node_spawn_service(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                 const char *kind);
int __wrap_wf_node_spawn_service(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                 const char *kind);
int __wrap_wf_node_spawn_service(weft_node *node, weft_pid *out, weft_actor *body, const void *arg, size_t size,
                                 const char *kind)
{
    return no_actor ? WEFT_ENOMEM : __real_wf_node_spawn_service(node, out, body, arg, size, kind);
}

static void all_are_answered(const void *arg, size_t size)
{
    (void)arg, (void)size;
    until(answered + refused == MANY);
}

START_TEST(a_request_during_the_start_of_the_node_waits)
{
    weft_node *node = node_start(RUN_OPTIONS(.workers = 1));
    struct wf_metrics *m;
    char bound[64];
    asked = MANY;
    ck_assert_int_eq(wf_metrics_start(&m, node, "9464", bound), 0);
    node_spawn(node, 0, all_are_answered);
    node_end(node);
    wf_metrics_stop(m);
    ck_assert_int_eq(answered, 64); /* the queue has an end */
    ck_assert_int_eq(refused, MANY - 64);
}
END_TEST

START_TEST(every_request_is_refused_if_the_answering_actor_cannot_begin)
{
    weft_node *node = node_start(RUN_OPTIONS(.workers = 1));
    struct wf_metrics *m;
    char bound[64];
    asked = 3;
    no_actor = true;
    ck_assert_int_eq(wf_metrics_start(&m, node, "9464", bound), WEFT_ENOMEM);
    node_end(node);
    ck_assert_int_eq(answered, 0);
    ck_assert_int_eq(refused, 3);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("metrics");
    TCase *t = tcase_create("metrics");
    tcase_add_checked_fixture(t, forget, NULL);
    tcase_add_test(t, a_request_during_the_start_of_the_node_waits);
    tcase_add_test(t, every_request_is_refused_if_the_answering_actor_cannot_begin);
    suite_add_tcase(s, t);
    return run_suite(s);
}
