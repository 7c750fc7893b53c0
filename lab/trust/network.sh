# Networks that lose, break and delay what is sent, and peers that stop or die.
#
# Two network namespaces are two hosts. The workload's server runs in one, its client in the other,
# which brings the fault about itself, in the midst of a transfer.

trial network "networks that lose, break and delay, peers that stop or die"

lacks_network() {
  lacks_programs ip nft strace
  lacks_root
}

server=10.99.0.2:9000
a=arc$$-a
b=arc$$-b
link=arc$$b
# No case takes longer; that with the lossy link takes the longest. The client does nothing besides.
client=(ip netns exec "$a" "$workload" --timers 0 --jobs 0 --wakes 0 --datagrams 0)
client_limit=90
four="--connections 4 --at-once 4 --bytes 20000000"

try_network() {
  local sum=0 mebibytes=0 usual lost=0
  tool cargo build --release -p arc-trials
  hosts_begin
  note "| fault | promised | seen |"
  note "|---|---|---|"
  usual=1000000
  transfer "" "" "$four" : OK
  usual=$made

  transfer "a reset in the midst of a transfer" "an error for both directions; what came is a prefix" \
    "--connections 1 --bytes 20000000" "$(rule "$b" "tcp dport 9000 reject with tcp reset")" \
    "reset by peer" broken=1 wrong=0 ENDED
  transfer "a peer that is gone without a word" "a timeout around it fires" \
    "$four --patience-ms 3000" "$(rule "$b" "tcp dport 9000 drop")" timeouts=4 wrong=0 ENDED
  transfer "a link that is down for 2 s" "all bytes arrive" "$four --patience-ms 60000" \
    "ip -n $b link set $link down; (sleep 2; ip -n $b link set $link up) >/dev/null 2>&1 &" \
    whole=4 wrong=0 OK
  transfer "a peer that is stopped for 2 s (SIGSTOP)" "all bytes arrive; who writes does not spin" \
    "$four --patience-ms 60000" "kill -STOP PID; (sleep 2; kill -CONT PID) >/dev/null 2>&1 &" \
    whole=4 wrong=0 OK
  transfer "a peer that is killed (SIGKILL)" "an error for all its connections" \
    "$four --patience-ms 20000" "kill -KILL PID" broken=4 timeouts=0 wrong=0 ENDED
  lossy
  unreachable
  tried "8 faults, $lost packets lost, $mebibytes MiB compared, $sum system calls"
}

# Two namespaces with a link between them. They end with the trial.
hosts_begin() {
  trap 'server_end; ip netns del "$a"; ip netns del "$b"' EXIT
  tool sh -ec "ip netns add $a; ip netns add $b
    ip link add arc$$a type veth peer name $link
    ip link set arc$$a netns $a; ip link set $link netns $b
    ip -n $a addr add 10.99.0.1/24 dev arc$$a; ip -n $a link set arc$$a up
    ip -n $b addr add 10.99.0.2/24 dev $link; ip -n $b link set $link up
    ip -n $a link set lo up; ip -n $b link set lo up"
}

# The command that has a host filter what comes in.
rule() {
  echo "echo 'table inet f { chain i { type filter hook input priority 0; $2; }; }' |" \
    "ip netns exec $1 nft -f -"
}

mend() {
  tool ip netns exec "$a" nft flush ruleset
  tool ip netns exec "$b" nft flush ruleset
}

# Starts a server in the second namespace, and waits until it listens.
server_begin() {
  local line
  exec {output}< <(exec ip netns exec "$b" "$workload" --listen $server)
  server_pid=$!
  read -r -t 10 -u "$output" line || true
  [[ $line == "listening on"* ]] || fail "the server does not listen: $line"
}

server_end() {
  if [ -n "${server_pid:-}" ]; then
    kill -KILL "$server_pid" || true
    exec {output}<&-
    server_pid=
  fi
} 2>/dev/null

# A number of the client's account.
count() {
  sed -n "s/^account: .*\b$1=\([0-9]*\).*/\1/p" <<<"$printed"
}

# Starts a server, and runs a client with these options that does something at half of its transfer.
# What it must say follows.
transfer() {
  local name=$1 promised=$2 options=$3 at_half=$4 text told
  local counts=$work/network.strace
  shift 4
  server_begin
  # shellcheck disable=SC2086 # The options are words.
  tool -t $client_limit strace -f -qq -c -o "$counts" "${client[@]}" --connect $server $options \
    --at-half "${at_half//PID/$server_pid}"
  server_end
  local client_said=$printed
  mend
  printed=$client_said
  for text in "$@"; do
    said "$text" || fail "${name:-nothing is broken}: the client did not say $text"
  done
  made=$(awk '$NF == "total" { print $4 }' "$counts")
  # What spins makes a hundred thousand calls in 2 s.
  [ "$made" -le $((2 * usual + 1000)) ] || fail "$name: $made calls, usually $usual"
  if [ -n "$name" ]; then
    told=$(sed -n 's/^told: \(.*\)/, `\1`/p' <<<"$printed" | tr -d '\n')
    row "$name" "$promised" "$(count whole) whole, $(count broken) broken, \
$(count timeouts) timeouts$told; $made calls"
    sum=$((sum + made))
    mebibytes=$((mebibytes + ($(count bytes) >> 20)))
  fi
}

# Every tenth packet is lost, in both directions.
lossy() {
  local host packets
  server_begin
  for host in "$a" "$b"; do
    tool sh -c "$(rule "$host" "numgen random mod 100 < 10 counter drop")"
  done
  tool -t $client_limit "${client[@]}" --connect $server \
    --connections 8 --at-once 8 --bytes 600000 --patience-ms 80000
  said "whole=8 " || fail "with every tenth packet lost, not all arrived"
  for host in "$a" "$b"; do
    tool ip netns exec "$host" nft list ruleset
    packets=$(grep -o 'packets [0-9]*' <<<"$printed")
    lost=$((lost + ${packets#packets }))
  done
  server_end
  mend
  [ $lost -gt 0 ] || fail "no packet was lost"
  row "every tenth packet lost" "all bytes arrive" "$lost lost, 8 of 8 whole"
}

# A host that does not answer, and one that is not there.
unreachable() {
  tool sh -c "$(rule "$b" "tcp dport 9001 drop")"
  tool -t $client_limit "${client[@]}" --connections 5 --at-once 5 --patience-ms 1000 \
    --connect 10.99.0.2:9001
  said "timeouts=5 " || fail "connecting to who does not answer did not time out"
  row "connecting to who does not answer" "a timeout around it fires" "5 of 5 timeouts"
  mend
  tool -t $client_limit "${client[@]}" --connections 5 --at-once 5 --patience-ms 20000 \
    --connect 10.99.0.77:9000
  said "No route to host" && said "broken=5 " || fail "connecting to who is not there gave no error"
  row "connecting to who is not there" "the system's error" "5 of 5: \`No route to host\`"
}
