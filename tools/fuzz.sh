#!/usr/bin/env bash
# Runs the fuzz targets that BUILD_FOLDER holds, as many at a time as there are processors, from the seeds in
# tests/fuzz/corpus; what they learn stays in BUILD_FOLDER/corpus. Then what of the parsers' files all inputs together
# have run.
# usage: tools/fuzz.sh BUILD_FOLDER [SECONDS|quick [TARGET...]]; tools/fuzz.sh --seeds BUILD_FOLDER writes the seeds
# that are made of frames.
# quick: ten seconds, from the seeds alone, in the order of one random seed: as a rule it is the change that fails, and
# not its day.
# An input that fails is printed, last of all: where this runs the folder may be gone when somebody reads of it.
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $1 == --seeds ]]; then
    exec "$2/tests/fuzz/seeds" tests/fuzz/corpus
fi
build=$1 seconds=${2:-30}
shift $(($# < 2 ? $# : 2))
export LLVM_PROFILE_FILE=/dev/null

# The files that each target tests.
declare -A files=(
    [answers]='cli/client/client.c cli/inspect/inspect.c cli/inspect/inspect_actor.c cli/inspect/drops.c
        cli/inspect/kinds.c cli/inspect/record.c cli/inspect/who.c cli/talk.c cli/trace.c cli/top/top_model.c cli/top/top_text.c'
    [cli]='cli/options/option_table.c cli/options/options.c cli/run.c cli/options/values.c'
    [config]='cli/config/config.c'
    [control]='transport/admin/control.c transport/admin/control_list.c transport/admin/control_inspect.c
        transport/admin/control_top.c transport/admin/control_trace.c transport/admin/control_who.c transport/admin/relay.c'
    [dns]='transport/discover/discover_dns.c'
    [etcd]='transport/discover/etcd_json.c transport/discover/etcd_spec.c'
    [frame]='transport/wire/frame.c transport/wire/frame_tables.c transport/wire/frame_chunks.c'
    [framing]='transport/wire/sp.c'
    [identity]='transport/security/identity.c transport/security/roles.c'
    [json]='cli/client/json.c'
    [link]='transport/link/channel.c transport/cluster/handshake.c transport/link/receive.c transport/link/peer_link.c
        transport/cluster/links.c transport/link/table_sync.c'
    [pack]='actors/data/pack.c'
    [store]='transport/store/engine/stored_topic.c actors/data/typed.c'
    [store_actor]='transport/store/server/store_actor.c transport/store/server/store_queues.c transport/store/server/store_holds.c
        transport/store/server/store_states.c transport/store/server/store_shares.c transport/store/server/store_cursors.c
        transport/store/server/parked_reads.c transport/store/readers/store_reader.c'
    [store_file]='transport/store/sql/sql_append.c transport/store/sql/sql_check.c transport/store/sql/sql_jobs.c
        transport/store/sql/sql_logs.c transport/store/sql/sql_queues.c transport/store/sql/sql_read.c
        transport/store/sql/sql_reminders.c transport/store/sql/sql_states.c transport/store/sqlite/sqlite.c'
    [store_postgres]='transport/store/postgres/postgres_driver.c transport/store/sql/sql_block.c'
    [swim]='transport/cluster/swim.c transport/cluster/swim_table.c transport/wire/swim_wire.c'
    [topic]='actors/data/topic_trie.c'
    [typed]='actors/data/typed.c actors/data/typed_json.c'
    [url]='transport/carrier/url.c transport/discover/discover.c runtime/platform/address.c'
    [webchat]='examples/webchat.c examples/webchat_http.h'
    [ws]='transport/carrier/ws.c transport/carrier/http.c'
)

fuzz()
{
    local name=$1 learned="$build/corpus/$1" limit=("-max_total_time=$seconds") command=()
    if [[ $seconds == quick ]]; then
        learned="$build/corpus-quick/$name"
        rm -rf "$learned"
        limit=(-max_total_time=10 -seed=1)
        # Addresses are compared, too, and what is compared leads to the next inputs.
        setarch -R true 2>/dev/null && command=(setarch -R)
    fi
    mkdir -p "$learned"
    "${command[@]}" "$build/tests/fuzz/${name}_fuzz" "${limit[@]}" -max_len=4096 -timeout=60 -report_slow_units=60 \
        -verbosity=0 -print_final_stats=1 -artifact_prefix="$build/$name-" "$learned" "tests/fuzz/corpus/$name" \
        >"$build/$name.log" 2>&1
}

# Prints the report of a failure, without the lines of libFuzzer before and after it.
said()
{
    echo "-- $1: FAILED, its log is $build/$1.log"
    grep -m 1 -B 2 -A 20 -E 'ERROR: |runtime error: ' "$build/$1.log" || tail -n 20 "$build/$1.log"
}

# Prints the input that failed, and how to run it again.
input()
{
    local file
    file=$(sed -n 's/^.*Test unit written to //p' "$build/$1.log")
    [[ -f $file ]] || return 0
    echo "-- $1 failed with this input of $(stat -c %s "$file") bytes; to run it again:"
    echo "base64 -d >input <<<'$(base64 -w 0 "$file")'"
    echo "./dev fuzz --input $1 input"
}

# Prints how many inputs were run, and which share of lines and branches of the target's files all inputs have run.
report()
{
    local name=$1 program="$build/tests/fuzz/$1_fuzz" raw="$build/$1.profraw"
    LLVM_PROFILE_FILE=$raw "$program" -runs=0 -verbosity=0 "$build"/corpus*/"$name" "tests/fuzz/corpus/$name" \
        >/dev/null 2>&1 || true
    llvm-profdata merge -o "$build/$name.profdata" "$raw" || return 1
    # shellcheck disable=SC2086
    llvm-cov export --summary-only --instr-profile="$build/$name.profdata" "$program" |
        python3 tools/fuzz_summary.py "$name" "$build/$name.log" ${files[$name]}
    rm -f "$raw"
}

# The report takes seconds and one processor, so other targets run meanwhile.
fuzz_and_report()
{
    local status=0
    fuzz "$1" || status=$?
    report "$1" >"$build/$1.line" || true
    return $status
}

names=()
for program in "$build"/tests/fuzz/*_fuzz; do
    name=$(basename "$program" _fuzz)
    (($# == 0)) || [[ " $* " == *" $name "* ]] || continue
    names+=("$name")
done

failed=() running=()
declare -A pid=()
# finish NAME: waits for its end
finish()
{
    wait "${pid[$1]}" || failed+=("$1")
}

for name in "${names[@]}"; do
    if ((${#running[@]} >= $(nproc))); then
        finish "${running[0]}"
        running=("${running[@]:1}")
    fi
    fuzz_and_report "$name" &
    pid[$name]=$!
    running+=("$name")
done
for name in "${running[@]}"; do finish "$name"; done

status=0
printf '%-10s %10s %12s %16s %16s\n' target inputs 'a second' lines branches
for name in "${names[@]}"; do
    cat "$build/$name.line"
    [[ -s $build/$name.line ]] || status=1
done
((${#failed[@]} == 0)) && exit $status
for name in "${failed[@]}"; do said "$name"; done
for name in "${failed[@]}"; do input "$name"; done
exit 1
