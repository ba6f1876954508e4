/* bench/peers/stored_nats.c -- bench/stored.c with a stream of NATS JetStream in a file.
 *
 *     stored_nats URL append PUBLISHERS SIZE MILLISECONDS | replay SIZE N
 *
 * The server's settings say when it syncs; peers.py starts it. The connection is driven as by an event loop, which is
 * faster than with the library's threads (nats.c). It has a publication of each publisher on its way, and gets the
 * acknowledgements under one subject. Replay: a consumer that pushes to a subject, without acknowledgements and
 * without flow control. */
#include "nats_loop.h"
#include "stored.h"

#include <poll.h>

static struct loop driven;

static natsConnection *dial(const char *url, bool is_driven)
{
    natsOptions *o;
    natsConnection *c;
    must(natsOptions_Create(&o), "options");
    must(natsOptions_SetURL(o, url), "URL");
    must(natsOptions_SetAllowReconnect(o, false), "options");
    must(natsOptions_SetClosedCB(o, closed, NULL), "options");
    must(natsOptions_SetIOBufSize(o, GATHERED), "options");
    if (is_driven)
        must(natsOptions_SetSendAsap(o, true), "options"); /* what is written waits for write_out all the same */
    if (is_driven) must(natsOptions_SetEventLoop(o, &driven, attach, want_read, want_write, detach), "event loop");
    must(natsConnection_Connect(&c, o), "connect");
    natsOptions_Destroy(o);
    return c;
}

static void write_out(void)
{
    while (driven.must_write) natsConnection_ProcessWriteEvent(driven.nc);
}

static natsMsg *receive(natsSubscription *s)
{
    natsMsg *m;
    natsStatus status;
    while ((status = natsSubscription_NextMsg(&m, s, 0)) == NATS_TIMEOUT) {
        struct pollfd one = {.fd = driven.fd, .events = POLLIN};
        write_out();
        if (poll(&one, 1, PATIENCE_MS) != 1) fail("messages are missing");
        natsConnection_ProcessReadEvent(driven.nc);
    }
    must(status, "receive");
    return m;
}

static natsSubscription *subscribe(const char *subject)
{
    natsSubscription *s;
    must(natsConnection_SubscribeSync(&s, driven.nc, subject), "subscribe");
    must(natsSubscription_SetPendingLimits(s, -1, -1), "no limit");
    return s;
}

/* ---- The stream ------------------------------------------------------------------------------------------------ */

static jsCtx *js;

static void make_stream(void)
{
    jsStreamConfig c;
    const char *subject = "bench";
    must(jsStreamConfig_Init(&c), "stream");
    c.Name = "bench", c.Subjects = &subject, c.SubjectsLen = 1, c.Storage = js_FileStorage, c.Replicas = 1;
    jsErrCode code;
    natsStatus status = js_DeleteStream(js, "bench", NULL, &code);
    if (status != NATS_OK && status != NATS_NOT_FOUND) must(status, "delete the stream");
    must(js_AddStream(NULL, js, &c, NULL, &code), "make the stream");
}

static void begin_replay(void)
{
    jsConsumerConfig c;
    jsErrCode code;
    must(jsConsumerConfig_Init(&c), "consumer");
    c.DeliverSubject = "replay", c.DeliverPolicy = js_DeliverAll, c.AckPolicy = js_AckNone;
    must(js_AddConsumer(NULL, js, "bench", &c, NULL, &code), "make a consumer");
}

static void check_acknowledgement(natsMsg *m)
{
    const char *text = natsMsg_GetData(m), *number = text == NULL ? NULL : strstr(text, "\"seq\":");
    if (number == NULL || strtoull(number + 6, NULL, 10) != stored.acknowledged + 1) fail("a wrong acknowledgement");
}

static void publish_all(natsSubscription *acknowledgements)
{
    stored_begin();
    for (;;) {
        while (stored_next())
            must(natsConnection_PublishRequest(driven.nc, "bench", "ack", stored.body, (int)stored.size), "publish");
        if (!stored_waits()) return;
        natsMsg *m = receive(acknowledgements);
        check_acknowledgement(m);
        natsMsg_Destroy(m);
        stored_acknowledge(stored.acknowledged);
    }
}

static void read_all(natsSubscription *records)
{
    for (uint64_t number = 0; number < stored.acknowledged; number++) {
        natsMsg *m = receive(records);
        stored_check(number, natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
        natsMsg_Destroy(m);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || !stored_arguments(argc - 2, argv + 2)) {
        fprintf(stderr, "usage: %s URL append PUBLISHERS SIZE MILLISECONDS | replay SIZE N\n", argv[0]);
        return 2;
    }
    must(natsConnection_JetStream(&js, dial(argv[1], false), NULL), "JetStream");
    make_stream();
    driven.nc = dial(argv[1], true);
    natsSubscription *acknowledgements = subscribe("ack"), *records = subscribe("replay");
    publish_all(acknowledgements);
    if (stored.appends) stored_report_appends("nats");
    int64_t start = stored_now();
    begin_replay();
    read_all(records);
    if (!stored.appends) stored_report_replay("nats", start);
    jsErrCode code;
    must(js_DeleteStream(js, "bench", NULL, &code), "delete the stream");
    _exit(0); /* the library's threads would report closed connections */
}
