/* models/link.pml -- a link that goes on after its connections are lost: each frame arrives once and in order,
 * however often and whenever a connection ends, and whatever of it was on the way.
 *
 * Stands for: one direction of a link: wf_link_push, take, land, trim, rewind_all, wf_link_attach,
 * wf_link_on_ack (transport/link/send_queue.c), is_new, receive_start, wf_link_receive (transport/link/receive.c),
 * wf_links_resume, break_off, take_pending (transport/cluster/links.c). The other direction is the same with the sides
 * exchanged; its acknowledgements are here.
 *
 * Each connection has two ways that lose what is on them when it ends. The sides hear of the end at different times,
 * so one may still hold the old connection while the other dials. What the receiver has of the frames goes to the
 * sender with WELCOME, which may be older than what it has when the connection begins: frames of the old connection
 * may be received after it was written, and acknowledged. START says where the sender begins.
 *
 * -DBUG=1: the sender begins where WELCOME says, and the receiver takes it for granted (no START).  -DBUG=2: the
 * receiver does not skip what it had.  -DBUG=3: a batch is freed when it has been sent, not when it is acknowledged.
 * -DBUG=4: the next connection is received from while the one before is not at its end.  -DBUG=5: after a loss the
 * sender goes on where it was.  -DBUG=6: what is acknowledged while it is to be sent again is left out, though START has
 * promised it. */
#ifndef FRAMES
#define FRAMES 4
#endif
#ifndef LOSSES
#define LOSSES 2
#endif
#ifndef BUG
#define BUG 0
#endif
#define CONNS 3 /* LOSSES + 1 */
#ifndef SPACE
#define SPACE 2
#endif

mtype = { START, DATA };

chan there[CONNS] = [SPACE] of { mtype, byte }; /* START count; DATA number of the frame */
chan back[CONNS] = [SPACE] of { byte };         /* ACK count */
bool up[CONNS];      /* the connection carries bytes */
bool ended[CONNS];   /* its receiving side has come to its end */
byte conns;          /* made so far */

/* The sender. */
byte base, next, most; /* frames freed, sent on this connection or before it, the most ever */
byte s_acked;
byte s_conn = 255;     /* its connection */
bool s_started;
/* The receiver. */
byte received;
byte r_conn = 255, r_pending = 255;
byte acked;            /* what it has acknowledged */
byte promised;         /* what its last WELCOME said */
byte delivered;

proctype sender()
{
    byte n;
end_sender:
    do
    :: atomic { s_conn != 255 && up[s_conn] && !s_started && nfull(there[s_conn]) ->
#if BUG != 1
        there[s_conn] ! START, base;
#endif
        s_started = true
       }
    :: atomic { s_conn != 255 && up[s_conn] && s_started && next < FRAMES && nfull(there[s_conn]) ->
        there[s_conn] ! DATA, next + 1;
        next++;
        most = (next > most -> next : most);
#if BUG == 3
        base = next
#else
        base = (s_acked > base -> (s_acked < next -> s_acked : next) : base)
#endif
       }
    :: atomic { s_conn != 255 && nempty(back[s_conn]) ->
        back[s_conn] ? n;
        assert(n <= most);
        s_acked = (n > s_acked -> n : s_acked);
#if BUG == 6
        base = (n > base -> n : base);
        next = (next < base -> base : next);
#else
        base = (s_acked > base -> (s_acked < next -> s_acked : next) : base);
#endif
        n = 0
       }
    od
}

/* The receiving side of connection `c`, on a thread of its own. */
proctype receiver(byte c)
{
    byte n, at; /* number of the frame that has come last on this connection */
    bool placed;
    mtype kind;
    r_conn == c;
#if BUG == 1
    at = promised; placed = true;
#endif
end_receiver:
    do
    :: nempty(there[c]) ->
        there[c] ? kind, n;
        if
        :: kind == START -> assert(n <= received); at = n; placed = true
        :: kind == DATA ->
            assert(placed);
            at++;
            if
#if BUG != 2
            :: at <= received
            :: at > received ->
#else
            :: true ->
#endif
                received = at;
                delivered++;
                assert(n == delivered) /* once, and in order */
            fi
        fi;
        n = 0; kind = 0
    :: up[c] && nfull(back[c]) && received != acked -> atomic { back[c] ! received; acked = received }
    :: !up[c] -> /* on_down: what has not been read yet is lost */
        atomic {
            do
            :: nempty(there[c]) -> there[c] ? kind, n
            :: empty(there[c]) -> break
            od;
            ended[c] = true;
            break
        }
    od
}

/* The receiver's $cluster: take_pending. */
proctype attacher()
{
end_attacher:
    do
#if BUG == 4
    :: r_pending != 255 ->
#else
    :: r_pending != 255 && (r_conn == 255 || ended[r_conn]) ->
#endif
        atomic { r_conn = r_pending; r_pending = 255 }
    od
}

/* The network, and both sides' $cluster: connections end, and new ones are agreed upon, which the sender and the
 * receiver take up at different times. */
proctype network()
{
    byte c, told;
end_network:
    do
    :: conns < CONNS && (conns == 0 || !up[conns - 1]) ->
        c = conns;
        told = received; /* the WELCOME is written */
        atomic { up[c] = true; conns++ };
        if
        :: atomic { /* the sender hears it: wf_link_attach */
            s_conn = c;
            s_started = false;
            s_acked = (told > s_acked -> told : s_acked);
            base = (s_acked > base -> s_acked : base);
#if BUG == 1
            next = told
#elif BUG != 5
            next = base
#endif
           }
        fi;
        atomic { promised = told; r_pending = c; run receiver(c) }
    /* lost, with any part of what is on the way */
    :: conns > 0 && conns < CONNS && up[conns - 1] && r_pending == 255 ->
        atomic {
            up[conns - 1] = false;
            do
            :: nempty(back[conns - 1]) -> back[conns - 1] ? told
            :: break
            od;
            told = 0
        }
    od
}

/* When nothing moves any more: everything has arrived. */
active proctype all_has_arrived()
{
end_watch:
    timeout;
    assert(delivered == FRAMES && base <= delivered)
}

init
{
    atomic { run sender(); run attacher(); run network() }
}
