#!/usr/bin/env bash
# What the recorder costs: CPU per request of the example `http` at 64 busy connections, recorded,
# against one that was built without the feature `trace`. Both take turns. Linux, with wrk.
#
#     bash benches/recorder.sh [rounds] [seconds of each measurement]
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-15} seconds=${2:-3}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

for feature in "" trace; do
    cargo build --release -p arc-examples --example http --features "$feature"
    cp target/release/examples/http "$folder/http$feature"
done

# Ticks of the clock that a process has had, in its own code and in the kernel's.
ticks() { sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 12,13 | tr ' ' + | bc; }

# Nanoseconds per request.
measure() {
    : >"$folder/told"
    "$folder/http$1" --addr 127.0.0.1:0 --workers 2 >>"$folder/told" &
    local server=$! url before after requests
    until url=$(grep -om1 'http://[^ ]*' "$folder/told")/; do kill -0 $server; done
    wrk -t1 -c64 -d1s "$url" >"$folder/warm"
    before=$(ticks $server)
    requests=$(wrk -t1 -c64 -d"${seconds}s" "$url" | grep -oE '[0-9]+ requests in' | cut -d ' ' -f 1)
    after=$(ticks $server)
    kill -9 $server
    wait $server 2>/dev/null || true
    echo $(((after - before) * 1000000000 / $(getconf CLK_TCK) / requests))
}

for round in $(seq "$rounds"); do
    if ((round % 2)); then
        without=$(measure "") with=$(ARC_TRACE=$folder/run.txt measure trace)
    else
        with=$(ARC_TRACE=$folder/run.txt measure trace) without=$(measure "")
    fi
    echo "$without ns without, $with ns with: $((with * 100 / without)) %" | tee -a "$folder/all"
done
sort -t : -k 2n "$folder/all" | awk -F ': ' '{ ratio[NR] = $2 } END {
    print "median " ratio[int((NR + 1) / 2)] ", half of them from " ratio[int((NR + 3) / 4)] \
        " to " ratio[int((3 * NR + 3) / 4)] }'
echo "the machine's load: $(cut -d ' ' -f 1-3 /proc/loadavg)"
