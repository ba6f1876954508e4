"""Known bugs, as replacements in the source of the product. tools/mutants.py makes a tree that has all of them, each
behind its switch, wf_mutant("name") in mutant.h. The text of each must be in its file exactly once; otherwise
`house/mutants` fails."""

# (file, what stands there, what stands there instead)
SITES = [
    ("transport/cluster/gossip.c", '''\
        wf_links_has_left(c, l);
''', '''\
        if (wf_mutant("left_ends_broken_link") && l->state == WF_STATE_BROKEN) wf_links_end(c, l, why);
        else wf_links_has_left(c, l);
'''),
    ("transport/cluster/links.c", '''\
    bool resume = l->number != 0 && !has_failed(l) && !(c->leaving && wf_link_drained(l));
''', '''\
    bool resume = l->number != 0 && !has_failed(l) && !(c->leaving && (wf_link_drained(l) || wf_mutant("leaving_resumes_nothing")));
'''),
    ("actors/mailbox/mailbox.c", '''\
    if (WF_LIKELY(m->post.flags != WF_MSG_CALL) || !request_is_dead(a->task.worker, m)) return false;
    drop_dead(a, previous, place);
''', '''\
    if (WF_LIKELY(m->post.flags != WF_MSG_CALL) || wf_mutant("mailbox_keeps_expired_requests") || !request_is_dead(a->task.worker, m)) return false;
    drop_dead(a, previous, place);
'''),
    ("actors/mailbox/backpressure.c", '''\
        weft_msg *m = wf_lane_take_after(waiting, NULL);
''', '''\
        weft_msg *m = wf_mutant("mailbox_tells_no_space") ? NULL : wf_lane_take_after(waiting, NULL);
'''),
    ("actors/mailbox/mailbox.c", '''\
            is_taken_past_bound(a, m)) {
''', '''\
            (is_taken_past_bound(a, m) && !wf_mutant("mailbox_drops_what_has_credit"))) {
'''),
    ("actors/lifecycle/supervisor.c", '''\
    bool in_order = !s->started || s->strategy != WEFT_ONE_FOR_ONE;
''', '''\
    bool in_order = (!s->started || s->strategy != WEFT_ONE_FOR_ONE) && !wf_mutant("supervisor_any_order");
'''),
    ("actors/lifecycle/supervisor.c", '''\
    if (s->max_restarts == 0) return false;
''', '''\
    if (s->max_restarts == 0) return false;
    if (wf_mutant("supervisor_counts_nothing")) return true;
'''),
    ("actors/lifecycle/supervisor.c", '''\
    if (reason != WEFT_ENOMEM || c->asked || next >= c->deadline) return false;
''', '''\
    if (reason != WEFT_ENOMEM || c->asked || next >= c->deadline) return false;
    if (wf_mutant("supervisor_counts_starved")) return false;
'''),
    ("actors/lifecycle/supervisor.c", '''\
        if (c->spec.restart == WEFT_TEMPORARY) drop(s, c);
''', '''\
        if (c->spec.restart == WEFT_TEMPORARY || wf_mutant("supervisor_forgets_child")) drop(s, c);
'''),
    ("actors/lifecycle/supervisor.c", '''\
    while (!stop_one(s) && !s->ending && start_one(s, now)) {}
''', '''\
    while ((!stop_one(s) || wf_mutant("supervisor_starts_too_soon")) && !s->ending && start_one(s, now)) {}
'''),
    ("actors/names/group.c", '''\
    wf_tables_begin(voice.node);
''', '''\
    wf_tables_begin(voice.node);
    if (wf_mutant("group_tells_too_soon")) wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
'''),
    ("actors/names/group.c", '''\
    wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
''', '''\
    if (!wf_mutant("group_tells_too_soon")) wf_tables_tell(voice.node, WF_TABLE_UNSET, &e);
'''),
    ("actors/names/group.c", '''\
    rc = tie == NULL ? WEFT_ENOACTOR : leave(self, tie);
    pf_mutex_unlock(wf_groups_of(node)->lock);
''', '''\
    rc = tie == NULL ? WEFT_ENOACTOR : leave(self, tie);
    pf_mutex_unlock(wf_groups_of(node)->lock);
    if (rc == WEFT_OK && wf_mutant("group_leaves_untold")) {
        wf_tables_end(node);
        take_off_actor(self, tie);
        free(tie);
        return WEFT_OK;
    }
'''),
    ("actors/names/group_send.c", '''\
        int rc = route->send_group(w, list->nodes[i].node, group, tag, wf_actor_pid(self), body);
''', '''\
        int rc = route->send_group(w, list->nodes[i].node, group, tag, wf_actor_pid(self), body);
        if (list->nodes[i].count > 1 && wf_mutant("group_sends_for_each_member"))
            rc = route->send_group(w, list->nodes[i].node, group, tag, wf_actor_pid(self), body);
'''),
    ("actors/call/call.c", '''\
    wf_asking_begin(self, &asking, answers, count, need);
''', '''\
    wf_asking_begin(self, &asking, answers, count, need - (need > 1 && wf_mutant("gather_needs_one_less")));
'''),
    ("actors/call/call.c", '''\
        if (rc < 0) wf_answer_fails(self, at, rc);
''', '''\
        if (rc < 0 && !wf_mutant("gather_waits_for_the_dead")) wf_answer_fails(self, at, rc);
'''),
    ("actors/names/group_copy.c", '''\
    wf_group_end_tell(all, v, g, who, ended, reason, c);
''', '''\
    if (wf_mutant("group_tells_no_end") && !(ended && reason == WEFT_EXIT_NODE_LOST)) free(c);
    else wf_group_end_tell(all, v, g, who, ended, reason, c);
'''),
    ("actors/names/names.c", '''\
    if (!wins) return false;
''', '''\
    if (!wins || wf_mutant("name_never_yields")) return false;
'''),
    ("actors/names/names.c", '''\
    fresh->known = e == NULL || !weft_pid_equal(e->pid, pid) ? from->known : e->known;
''', '''\
    bool first = e == NULL || !weft_pid_equal(e->pid, pid) || wf_mutant("defence_is_doubted");
    fresh->known = first ? from->known : e->known;
'''),
    ("transport/link/send_queue.c", '''\
    if (last != NULL) last->mark = mark;
''', '''\
    if (last != NULL && !wf_mutant("link_marks_too_soon")) last->mark = mark;
'''),
    ("actors/names/tables.c", '''\
    wf_groups_clear_copies(node, &in, from, &work);
''', '''\
    if (!wf_mutant("group_keeps_the_dead")) wf_groups_clear_copies(node, &in, from, &work);
'''),
    ("actors/names/tables.c", '''\
    tell_loser(node, in, name, loser, winner);
''', '''\
    if (!wf_mutant("name_loser_not_told")) tell_loser(node, in, name, loser, winner);
'''),
    ("actors/remote/remote_child.c", '''\
    weft_remote_options options = {.link = true, .why = &why};
''', '''\
    weft_remote_options options = {.link = !wf_mutant("remote_child_not_linked"), .why = &why};
'''),
    ("actors/topics/subscription.c", '''\
    int rc = route == NULL ? WEFT_OK : route->interest(wa->worker, pattern, true, is_queued(s));
''', '''\
    int rc = route == NULL ? WEFT_OK : route->interest(wa->worker, pattern, true, is_queued(s));
    if (rc < 0 && wf_mutant("subscription_stays_untold")) return WEFT_OK;
'''),
    ("runtime/memory/heap.c", '''\
        for (uint32_t i = least + 1; i < end; i++)
''', '''\
        for (uint32_t i = least + 1; i < end - wf_mutant("timers_lose_order"); i++)
'''),
    ("transport/cluster/gossip.c", '''\
    return m != NULL && m->state == WF_SWIM_SUSPECT && !is_heard(l);
''', '''\
    return m != NULL && m->state == WF_SWIM_SUSPECT && (!is_heard(l) || wf_mutant("gossip_believes_all"));
'''),
    ("transport/cluster/handshake.c", '''\
    if (l != NULL) wf_links_end(c, l, given_up);
''', '''\
    if (l != NULL && !wf_mutant("leaving_waits_in_vain")) wf_links_end(c, l, given_up);
'''),
    ("transport/cluster/links.c", '''\
    if (now >= c->tables_at) { /* each link has us come by that often, also one that needs no PING */
''', '''\
    if (now >= c->tables_at && !wf_mutant("tables_never_told_again")) {
'''),
    ("transport/cluster/partition.c", '''\
    return s->user->heard != NULL && s->user->heard(s->arg, node);
''', '''\
    return s->user->heard != NULL && s->user->heard(s->arg, node) && !wf_mutant("gossip_believes_all");
'''),
    ("transport/cluster/swim.c", '''\
    wf_swim_enter(s, s->self, WF_SWIM_ALIVE, above + 1, now);
''', '''\
    wf_swim_enter(s, s->self, WF_SWIM_ALIVE, above + !wf_mutant("swim_keeps_number"), now);
'''),
    ("transport/cluster/swim.c", '''\
    bool probed = s->target != NULL && s->target->node == node;
''', '''\
    bool probed = s->target != NULL && s->target->node == node && !wf_mutant("swim_probes_the_old_way");
'''),
    ("transport/cluster/swim.c", '''\
    if (s->leaving || u->number < s->self->number) return;
''', '''\
    if (s->leaving || u->number < s->self->number || wf_mutant("swim_refutes_nothing")) return;
'''),
    ("transport/cluster/swim.c", '''\
    m->due = m->since + suspicion_time(s, m);
''', '''\
    m->due = m->since + suspicion_time(s, m) + (wf_mutant("swim_suspects_for_ever") ? WEFT_SEC(1000000) : 0);
'''),
    ("transport/discover/etcd.c", '''\
    int64_t retry_at, keep_at, lost_at;
''', '''\
    int64_t retry_at, keep_at, lost_at;
    int64_t wall_ahead; /* at the first lease */
'''),
    ("transport/discover/etcd.c", '''\
    int64_t margin = WF_MAX(e->granted / 5, MARGIN_LEAST);
''', '''\
    int64_t margin = WF_MAX(e->granted / 5, MARGIN_LEAST);
    struct pf_env *env = e->source->t->node->workers.env;
    int64_t ahead = env->wall(env) - weft_now();
    if (e->wall_ahead == 0) e->wall_ahead = ahead;
    if (wf_mutant("lease_by_wall_clock")) sent_at += ahead - e->wall_ahead;
'''),
    ("transport/discover/etcd.c", '''\
    e->lost_at = sent_at + e->granted - margin;
''', '''\
    if (wf_mutant("lease_never_over")) margin = -WEFT_SEC(1000000);
    e->lost_at = sent_at + e->granted - margin;
'''),
    ("transport/discover/etcd.c", '''\
        post_event(e, WF_ETCD_ACQUIRED, r->name, revision);
''', '''\
        post_event(e, WF_ETCD_ACQUIRED, r->name, wf_mutant("token_of_lease") ? e->lease : revision);
'''),
    ("transport/discover/exclusive_names.c", '''\
        if (c->state == HELD || c->state == LEAVING) lost(c);
''', '''\
        if ((c->state == HELD || c->state == LEAVING) && !wf_mutant("exclusive_forgets_lost")) lost(c);
'''),
    ("transport/discover/exclusive_names.c", '''\
    c->freed = WF_MAX(c->freed, revision);
    if (c->state == TAKEN) settle(s, c);
''', '''\
    c->freed = WF_MAX(c->freed, revision);
    if (c->state == TAKEN && !wf_mutant("exclusive_misses_freed")) settle(s, c);
'''),
    ("transport/discover/exclusive_names.c", '''\
        if (c->state == HELD && c->ref.id == down.ref.id) {
''', '''\
        if (c->state == HELD && c->ref.id == down.ref.id && !wf_mutant("name_not_given_back")) {
'''),
    ("transport/discover/exclusive_names.c", '''\
    return is_over ? WEFT_ENOACTOR : WEFT_OK;
''', '''\
    return is_over && !wf_mutant("exclusive_lost_is_given_back") ? WEFT_ENOACTOR : WEFT_OK;
'''),
    ("transport/link/credit.c", '''\
    if (e == NULL || number == 0 || e->number != number) return; /* 0: nobody has asked */
''', '''\
    if (e == NULL || number == 0 || e->number != number || wf_mutant("credit_forgets_grant")) return;
'''),
    ("transport/link/held_batches.c", '''\
           (b->order == WF_ORDER_ACTOR && l->held_by[b->slot] > 0);
''', '''\
           (b->order == WF_ORDER_ACTOR && l->held_by[b->slot] > 0 && !wf_mutant("link_lets_overtake"));
'''),
    ("transport/link/send_queue.c", '''\
static void rewind_all(struct wf_link *l)
{
''', '''\
static void rewind_all(struct wf_link *l)
{
    while (wf_mutant("link_forgets_flight") && l->first != l->unsent) l->base -= l->first->frames, free_one(pop(l));
'''),
    ("transport/link/send_queue.c", '''\
    if (WF_LIKELY(mask == 0) || !has_space(l)) return 0;
''', '''\
    if (WF_LIKELY(mask == 0) || !has_space(l) || wf_mutant("link_forgets_space")) return 0;
'''),
    ("transport/link/send_queue.c", '''\
        add_bytes(l, b, false);
''', '''\
        add_bytes(l, b, false);
        if (wf_mutant("link_keeps_lost_bodies")) b->body = NULL;
'''),
    ("transport/link/send_queue.c", '''\
    if (l->taken >= l->most_taken) insert_urgent(l);
''', '''\
    if (l->taken >= l->most_taken || wf_mutant("link_renumbers")) insert_urgent(l);
'''),
    ("transport/link/send_queue.c", '''\
    if (!can_resume(l)) l->acked = l->taken;
''', '''\
    if (!can_resume(l) || wf_mutant("link_takes_sent_for_acked")) l->acked = l->taken;
'''),
    ("transport/link/receive.c", '''\
static bool receive_start(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = ch->link;
''', '''\
static bool receive_start(struct wf_channel *ch, const struct wf_frame *f)
{
    struct wf_link *l = ch->link;
    if (wf_mutant("link_believes_start")) atomic_store_explicit(&l->received, f->number, memory_order_relaxed);
'''),
    ("transport/link/receive.c", '''\
    if (++ch->at <= received) return false;
''', '''\
    if (++ch->at <= received) return wf_mutant("link_takes_twice");
'''),
    ("transport/link/table_sync.c", '''\
    WF_ASSERT(wf_copies_empty(&p->copies));
''', '''\
    WF_ASSERT(wf_copies_empty(&p->copies) || wf_mutant("group_keeps_the_dead"));
'''),
    ("transport/link/table_sync.c", '''\
    send_all(p);
    send_retained(p, 0);
''', '''\
    if (!wf_mutant("tables_no_snapshot")) send_all(p);
    else p->part.next = WF_PART_NONE;
    if (!wf_mutant("retained_no_snapshot")) send_retained(p, 0);
'''),
    ("transport/link/topics.c", '''\
        b->frames++;
    }
''', '''\
        b->frames++;
    }
    bool lost = (part.count > 0 && b == NULL && wf_mutant("link_begins_without_patterns")) ||
                (b != NULL && wf_mutant("link_says_one_frame"));
    if (lost) wf_patterns_end(p, &l->mark);
'''),
    ("transport/link/topics.c", '''\
    if (rc > 0 && told) w->before_batches = send_changed;
''', '''\
    if (rc > 0 && told && wf_mutant("subscription_said_late")) wf_cluster_wake(t);
    else if (rc > 0 && told) w->before_batches = send_changed;
'''),
    ("transport/link/peer_interest.c", '''\
    bool at_once = opened && here->index == i;
''', '''\
    bool at_once = opened && here->index == i && !wf_mutant("message_passes_subscription");
'''),
    ("transport/link/topics.c", '''\
    bool replaces = rc > 0;
''', '''\
    bool replaces = rc > 0 || wf_mutant("retained_told_again");
'''),
    ("transport/link/topics.c", '''\
    bool again = rc == WEFT_EEXIST;
''', '''\
    bool again = rc == WEFT_EEXIST && !wf_mutant("retained_twice");
'''),
    ("transport/store/client/store_client.c", '''\
    int rc = weft_call_name(name, request, weft_msg_body(m), weft_size(m), answer, deadline);
''', '''\
    int rc = weft_call_name(name, request, weft_msg_body(m), weft_size(m), answer, deadline);
    while ((rc == WEFT_ENONODE || rc == WEFT_ENOREPLY || rc == WEFT_ENOACTOR) && weft_now() < deadline &&
           wf_mutant("store_asks_again") && weft_sleep(weft_after(WEFT_MS(100))) == WEFT_OK)
        rc = weft_call_name(name, request, weft_msg_body(m), weft_size(m), answer, deadline);
'''),
    ("transport/store/server/store_states.c", '''\
        if (x == NULL) end_wait(s, w, error, NULL);
''', '''\
        if (x != NULL && x->error == WEFT_ENOSPC && wf_mutant("state_confirms_what_has_no_space")) x->error = WEFT_OK;
        if (x == NULL) end_wait(s, w, error, NULL);
'''),
    ("transport/discover/etcd.c", '''\
static void start_phase(struct wf_etcd *e)
{
''', '''\
/* What a node of that name had before, as if it were kept in a file. */
static int64_t *lease_before(const char *name)
{
    static struct {
        char name[64];
        int64_t lease;
    } known[16];
    size_t i = 0;
    while (i < 15 && known[i].name[0] != '\\0' && strcmp(known[i].name, name) != 0) i++;
    snprintf(known[i].name, sizeof known[i].name, "%s", name);
    return &known[i].lease;
}

static void start_phase(struct wf_etcd *e)
{
'''),
    ("transport/discover/etcd.c", '''\
        if (e->stale != 0) revoke(e, e->stale);
''', '''\
        if (e->stale == 0 && wf_mutant("exclusive_start_ends_old_lease")) e->stale = *lease_before(weft_node_name(e->source->t->node));
        if (e->stale != 0) revoke(e, e->stale);
'''),
    ("transport/discover/etcd.c", '''\
    e->keeping = false;
    keep_until(e, r->sent_at);
    /* Without''', '''\
    *lease_before(weft_node_name(e->source->t->node)) = e->lease;
    e->keeping = false;
    keep_until(e, r->sent_at);
    /* Without'''),
    ("transport/store/sqlite/sqlite.c", '''\
    int rc = s->base.read_only ? SQLITE_OK : exec(s, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864");
''', '''\
    int rc = s->base.read_only ? SQLITE_OK : exec(s, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864");
    if (rc == SQLITE_OK && wf_mutant("store_commits_without_sync")) rc = exec(s, "PRAGMA synchronous=NORMAL");
'''),
    ("transport/store/sql/sql_append.c", '''\
    int error = sql_finish(c->s, rc);
''', '''\
    int error = sql_finish(c->s, rc);
    if (wf_mutant("store_believes_commit")) error = sql_error(rc);
'''),
    ("transport/store/sqlite/sqlite_connection.c", '''\
    if (c->disk_failed) give_up(s);
''', '''\
    if (c->disk_failed && !wf_mutant("store_forgets_failed_sync")) give_up(s);
'''),
    ("transport/store/sqlite/sqlite_connection.c", '''\
    if (sq_is_lasting(code)) {
''', '''\
    if (sq_is_lasting(code) && !wf_mutant("checkpoint_forgets_failed_sync")) {
'''),
    ("transport/store/sqlite/sqlite_connection.c", '''\
        sq_forget_what_was_copied(c);
''', '''\
        if (!wf_mutant("failed_checkpoint_keeps_its_note")) sq_forget_what_was_copied(c);
'''),
    ("transport/store/sqlite/sqlite.c", '''\
    if (rc == SQLITE_OK) sq_forget_what_was_copied(&s->writer);
''', '''\
    if (rc == SQLITE_OK && !wf_mutant("opening_believes_the_note")) sq_forget_what_was_copied(&s->writer);
'''),
    ("transport/store/sqlite/sqlite_gather.c", '''\
    int rc = pass_on(f);
    return rc == SQLITE_OK ? real_of(f)->pMethods->xSync(real_of(f), flags) : rc;
''', '''\
    int rc = wf_mutant("sync_leaves_what_is_held") ? SQLITE_OK : pass_on(f);
    return rc == SQLITE_OK ? real_of(f)->pMethods->xSync(real_of(f), flags) : rc;
'''),
    ("transport/store/sql/sql_block.c", '''\
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), r->data, r->size);
''', '''\
    if (wf_mutant("store_sums_nothing")) return 0;
    return wf_crc32c(wf_crc32c(0, numbers, sizeof numbers), r->data, r->size);
'''),
    ("transport/store/sql/sql_read.c", '''\
        if (rc == SQL_DONE || !fine || record.offset != r->next) return WEFT_EFORMAT;
''', '''\
        if (rc == SQL_DONE && wf_mutant("store_ends_at_a_hole")) return WEFT_OK;
        if (rc == SQL_DONE || !fine || record.offset != r->next) return WEFT_EFORMAT;
'''),
    ("transport/store/sql/sql_cursors.c", '''\
    if (a->error < 0 || (now.epoch == a->to.epoch && now.offset >= a->to.offset && !damaged)) return WEFT_OK;
''', '''\
    if (a->error < 0) return WEFT_OK;
    if (now.epoch == a->to.epoch && now.offset >= a->to.offset && !damaged && !wf_mutant("cursor_goes_back"))
        return WEFT_OK;
'''),
    ("transport/store/sql/sql_cursors.c", '''\
        rc = sql_finish(s, code);
        if (rc < 0) s->cursors = -1;
''', '''\
        rc = sql_finish(s, code);
        if (wf_mutant("cursor_believes_commit")) rc = sql_error(code);
        if (rc < 0) s->cursors = -1;
'''),
    ("transport/store/sql/sql_queues.c", '''\
    if (rc == WEFT_OK) rc = read_number(s->writer, SQL_COUNT_KEYS, &s->keys, NULL);
''', '''\
    for (int i = 0; i < 1000 && rc == WEFT_OK && wf_mutant("queue_forgets_keys_when_opened"); i++) {
        int code;
        struct sql_row *old = sql_prepare(s->writer, SQL_FORGET_KEYS, &code);
        if (old == NULL) break;
        sql_bind_int(old, 1, INT64_MAX);
        (void)sql_run(old);
    }
    if (rc == WEFT_OK) rc = read_number(s->writer, SQL_COUNT_KEYS, &s->keys, NULL);
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (x->kind != WF_JOB_EXTEND) j->lease = 0;
''', '''\
    if (x->kind == WF_JOB_EXTEND && wf_mutant("queue_extends_nothing")) return WEFT_OK;
    if (x->kind != WF_JOB_EXTEND) j->lease = 0;
'''),
    ("transport/store/server/store_queues.c", '''\
    for (size_t i = 0; i < b->count; i++) item[i].now = now;
''', '''\
    for (size_t i = 0; i < b->count; i++)
        item[i].now = now + (item[i].kind == WF_JOB_TAKE && wf_mutant("queue_gives_too_soon") ? 100000000 : 0);
'''),
    ("transport/store/server/store_queues.c", '''\
    bool lives = down->reason == WEFT_EXIT_NODE_LOST; /* it may live */
''', '''\
    bool lives = down->reason == WEFT_EXIT_NODE_LOST && !wf_mutant("queue_ends_lease_of_lost_node");
'''),
    ("transport/store/server/store_actor.c", '''\
        else if (is_lost && s->has_standbys && !s->gives_up) give_up(s);
''', '''\
        else if (is_lost && s->has_standbys && !s->gives_up && !wf_mutant("store_serves_when_lost")) give_up(s);
'''),
    ("transport/store/postgres/postgres.c", '''\
    if (is.commits < commits) {
''', '''\
    if (is.commits < commits && !wf_mutant("standby_opens_what_lacks_commits")) {
'''),
    ("transport/store/postgres/postgres_owner.c", '''\
    if (committed && c->has_warned) return WEFT_ESYSTEM;
''', '''\
    if (committed && c->has_warned && !wf_mutant("commit_believes_a_cancelled_wait")) return WEFT_ESYSTEM;
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    s->counts_unknown |= s->in_doubt;
''', '''\
    s->counts_unknown |= s->in_doubt && !wf_mutant("counts_believe_commit");
'''),
    ("transport/store/sql/sql_connection.c", '''\
    if (s->read_only || s->driver->confirm == NULL) return WEFT_OK;
''', '''\
    if (s->read_only || s->driver->confirm == NULL || wf_mutant("counts_believe_any_owner")) return WEFT_OK;
'''),
    ("transport/store/server/store_cursors.c", '''\
    if (rc < 0) end_wait(c, w, rc);
''', '''\
    if (rc == WEFT_OK && wf_mutant("cursor_acknowledged_before_stored")) answer(ask, WEFT_OK, w->to);
    if (rc < 0) end_wait(c, w, rc);
'''),
    ("transport/store/client/stored_reading.c", '''\
    int rc = wf_cursor_find(wf_store_named(r->store), r->cursor, r->topic, &at, WEFT_FOREVER);
''', '''\
    int rc = wf_cursor_find(wf_store_named(r->store), r->cursor, r->topic, &at, WEFT_FOREVER);
    if (rc < 0 && rc != WEFT_ECANCELED && !is_lasting(rc) && wf_mutant("cursor_not_found_is_none")) {
        at = (struct weft_position){0};
        rc = WEFT_OK;
    }
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (j->dead || j->lease == 0 || j->lease != x->lease) {
''', '''\
    if (j->dead || j->lease == 0 || (j->lease != x->lease && !wf_mutant("queue_takes_any_lease"))) {
'''),
    ("transport/store/sql/sql_jobs.c", '''\
        bool dies = is_used_up(&x->job, x->attempts); /* its last lease ended by time */
''', '''\
        bool dies = is_used_up(&x->job, x->attempts) && !wf_mutant("queue_job_never_dies");
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (rc == WEFT_OK && x->key != NULL) rc = write_key(c, x);
''', '''\
    if (rc == WEFT_OK && x->key != NULL && !wf_mutant("queue_forgets_key")) rc = write_key(c, x);
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (rc == WEFT_OK) rc = sql_run_of(c->s, SQL_DELETE_BODY, job->id);
''', '''\
    if (wf_mutant("queue_keeps_bodies")) return rc;
    if (rc == WEFT_OK) rc = sql_run_of(c->s, SQL_DELETE_BODY, job->id);
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    finish(&c, rc == WEFT_OK);
''', '''\
    if (wf_mutant("queue_believes_commit")) rc = sql_error(code);
    finish(&c, rc == WEFT_OK);
'''),
    ("transport/store/server/new_topics.c", '''\
    return seen >= t->from && seen <= t->number;
''', '''\
    return (seen >= t->from || wf_mutant("watch_knows_what_it_forgot")) && seen <= t->number;
'''),
    ("transport/store/sql/sql_counts.c", '''\
    if (!is->dead && is->due > q->seen && is->due < q->later_from) q->later_from = is->due;
''', '''\
    if (wf_mutant("counts_forget_a_time")) return;
    if (!is->dead && is->due > q->seen && is->due < q->later_from) q->later_from = is->due;
'''),
    ("transport/store/sql/sql_jobs.c", '''\
        if (committed) q->is = q->will;
''', '''\
        if (committed || wf_mutant("counts_keep_what_was_not_stored")) q->is = q->will;
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (found == SQL_A_REMINDER) rc = remove_job_of(c, q, r.job);
''', '''\
    if (found == SQL_A_REMINDER && !wf_mutant("reminder_keeps_what_it_replaces")) rc = remove_job_of(c, q, r.job);
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    r->at = x->next_due = x->job.due = sql_reminder_next(r, x->now);
''', '''\
    int64_t missed = r->at + r->period;
    r->at = x->next_due = x->job.due = wf_mutant("reminder_piles_up") ? missed : sql_reminder_next(r, x->now);
'''),
    ("transport/store/sql/sql_jobs.c", '''\
    if (r != NULL) rc = remove_reminder(c, q, queue, r->key);
''', '''\
    if (r != NULL && !wf_mutant("reminder_stays_when_done")) rc = remove_reminder(c, q, queue, r->key);
'''),
    ("transport/store/sql/sql_share.c", '''\
    return sql_cursor_write(s, x->queue, x->topic, &at, (struct wf_store_cursor){h.log.epoch, h.next - 1});
''', '''\
    if (wf_mutant("share_stays_behind")) h.next--;
    return sql_cursor_write(s, x->queue, x->topic, &at, (struct wf_store_cursor){h.log.epoch, h.next - 1});
'''),
    ("transport/store/server/store_queues.c", '''\
        if (h->log != is->log || h->id >= is->id || h->given == 0 || h->given >= is->given) continue;
''', '''\
        if (h->log != is->log || h->id >= is->id) continue;
        if (!wf_mutant("share_takes_unseen_for_done") && (h->given == 0 || h->given >= is->given)) continue;
'''),
    ("transport/store/server/store_queues.c", '''\
    if (w->share != NULL) w->share->hungry = true;
''', '''\
    if (w->share != NULL && !wf_mutant("share_is_not_hungry_again")) w->share->hungry = true;
'''),
    ("transport/store/sql/sql_states.c", '''\
    else if (x->kind != WF_STATE_OPEN && (found < 0 || x->owner != x->state.owner)) x->error = WEFT_ECLOSED;
''', '''\
    else if (x->kind != WF_STATE_OPEN &&
             (found < 0 || (x->owner != x->state.owner && !wf_mutant("state_takes_any_owner"))))
        x->error = WEFT_ECLOSED;
'''),
    ("transport/store/sql/sql_states.c", '''\
        rc = sql_finish(s, code);
''', '''\
        rc = sql_finish(s, code);
        if (wf_mutant("state_believes_commit")) rc = sql_error(code);
'''),
    ("transport/store/sql/sql_states.c", '''\
        if (c->s->damaged_states > 0) x->error = WEFT_EFORMAT;
''', '''\
        if (c->s->damaged_states > 0 && !wf_mutant("state_begins_in_place_of_damaged")) x->error = WEFT_EFORMAT;
'''),
    ("transport/cluster/swim.c", '''\
    if (m == NULL || (same && now < m->greet_at)) return;
''', '''\
    if (m == NULL || (same && now < m->greet_at && !wf_mutant("suspect_is_greeted_each_time"))) return;
'''),
    ("transport/link/send_queue.c", '''\
    } else if (last->size + b->size <= last->capacity) {
''', '''\
    } else if (last->size + b->size <= last->capacity && !wf_mutant("answers_lie_apart")) {
'''),
    ("actors/call/send_after.c", '''\
    if (l == NULL || l->actor != self) return WEFT_ECLOSED;
''', '''\
    if (l == NULL || l->actor != self) return WEFT_ECLOSED;
    if (wf_mutant("later_is_sent_all_the_same") && l->period == 0) return WEFT_OK;
'''),
    ("actors/call/send_after.c", '''\
    if (atomic_load_explicit(&l->body->refs, memory_order_acquire) != 1) return WEFT_OK;
''', '''\
    if (atomic_load_explicit(&l->body->refs, memory_order_acquire) != 1 && !wf_mutant("later_piles_up")) return WEFT_OK;
'''),
    ("actors/mailbox/backpressure.c", '''\
    } else if (first_for_space(a) != NULL) { /* it must not overtake waiting senders */
''', '''\
    } else if (first_for_space(a) != NULL && !wf_mutant("mailbox_lets_overtake")) {
'''),
    ("actors/mailbox/mailbox.c", '''\
        if (is_of_this_node(a, m) ||
''', '''\
        if (is_of_this_node(a, m) && wf_mutant("mailbox_drops_what_is_under_way")) break;
        if (is_of_this_node(a, m) ||
'''),
    ("actors/data/topic_trie.c", '''\
    t->subscribers--;
    t->changes++;
''', '''\
    t->subscribers--;
    t->changes += !wf_mutant("topic_lists_live_on");
'''),
    ("actors/data/topic_trie.c", '''\
        if (depth == w->topic.count) {
            if (!wf_list_empty(&n->subscribers)) found = n;
''', '''\
        if (depth == w->topic.count) {
            if (!wf_list_empty(&n->subscribers)) found = n;
            else if (wf_mutant("topic_rest_may_be_nothing")) found = n->rest;
'''),
    ("actors/lifecycle/monitors.c", '''\
    const bool waited = wf_signals_drop(self, WEFT_TAG_EXIT, WEFT_TAG_EXIT, 0, other) > 0;
''', '''\
    const bool only_one = wf_mutant("unlink_leaves_an_exit");
    weft_msg *one = only_one ? wf_signal_take(self, WEFT_TAG_EXIT, 0, other) : NULL;
    if (one != NULL) wf_msg_free(w, one);
    const bool waited = only_one ? one != NULL
                                 : wf_signals_drop(self, WEFT_TAG_EXIT, WEFT_TAG_EXIT, 0, other) > 0;
'''),
    ("actors/lifecycle/monitors.c", '''\
    if (mon == NULL || mon->watcher != self) return forget_down(self, ref.id) ? WEFT_OK : WEFT_ECLOSED;
''', '''\
    if ((mon == NULL || mon->watcher != self) && wf_mutant("demonitor_leaves_down")) return WEFT_OK;
    if (mon == NULL || mon->watcher != self) return forget_down(self, ref.id) ? WEFT_OK : WEFT_ECLOSED;
'''),
    ("actors/names/group.c", '''\
    (void)wf_signals_drop(self, WEFT_TAG_GROUP_JOIN, WEFT_TAG_GROUP_LEAVE, number, weft_nobody());
''', '''\
    if (!wf_mutant("group_unwatch_leaves_news"))
        (void)wf_signals_drop(self, WEFT_TAG_GROUP_JOIN, WEFT_TAG_GROUP_LEAVE, number, weft_nobody());
'''),
    ("actors/names/name_waits.c", '''\
        wait->wake(wait);
''', '''\
        if (!wf_mutant("name_wakes_nobody")) wait->wake(wait);
'''),
    ("runtime/wait/event.c", '''\
    return kind_of(word) == WF_EVENT_MANUAL && count_of(word) != mark;
''', '''\
    return kind_of(word) == WF_EVENT_MANUAL && count_of(word) != mark && !wf_mutant("event_forgets_by_reset");
'''),
    ("runtime/wait/event.c", '''\
    if (leave(wait->slot, &wait->place)) pass_on(wait->task->worker, wait->slot);
''', '''\
    if (leave(wait->slot, &wait->place) && !wf_mutant("event_keeps_what_it_did_not_take"))
        pass_on(wait->task->worker, wait->slot);
'''),
    ("runtime/wait/event.c", '''\
        call_unless_posted(home, ev, atomic_load_explicit(&ev->word, memory_order_relaxed));
''', '''\
        if (!wf_mutant("event_apart_keeps_what_it_did_not_take"))
            call_unless_posted(home, ev, atomic_load_explicit(&ev->word, memory_order_relaxed));
'''),
    ("runtime/wait/event.c", '''\
    if (left == 0 && (kind_of(word) == WF_SEMAPHORE || kind_of(word) == WF_EVENT_AUTO)) *next &= ~(uint64_t)SET;
''', '''\
    bool stays = wf_mutant("event_lets_all_go") && kind_of(word) == WF_EVENT_AUTO && (word & WAITED) != 0;
    if (left == 0 && !stays && (kind_of(word) == WF_SEMAPHORE || kind_of(word) == WF_EVENT_AUTO))
        *next &= ~(uint64_t)SET;
'''),
    ("runtime/wait/event.c", '''\
    if (!wait->attached) return (word & WAITED) == 0;
''', '''\
    if (!wait->attached) return (word & WAITED) == 0 || wf_mutant("semaphore_lets_overtake");
'''),
    ("runtime/wait/timer.c", '''\
    int64_t passed = u->period > 0 ? late / u->period + 1 : 1;
''', '''\
    int64_t passed = u->period > 0 ? late / u->period + 1 : 1;
    if (wf_mutant("timer_drifts")) u->due = w->now;
'''),
    ("runtime/wait/timer.c", '''\
    u->fired = 0;
    return first == WEFT_FOREVER ? 0 : wf_timer_arm(u->task->worker, &u->timer, u->due);
''', '''\
    if (!wf_mutant("timer_keeps_firings")) u->fired = 0;
    return first == WEFT_FOREVER ? 0 : wf_timer_arm(u->task->worker, &u->timer, u->due);
'''),
]
