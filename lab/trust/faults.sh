# System calls that fail or are slow, and limits that are reached.
#
# strace makes the calls of a fixed amount of work fail (`lab/trials/src/workload/`), which must come
# out right all the same, or end with a clear error. What comes of each fault is a line of a table;
# docs/RELIABILITY.md has the promises.

trial faults "system calls that fail or are slow, limits that are reached"

lacks_faults() {
  lacks_programs strace prlimit unshare setpriv
  lacks_root
}

workload=target/release/workload
calls=$work/faults.strace
# What no run takes: a second or so is usual.
limit=40

retried="tried again; nobody gets to know of it"
reported="an error for whoever asked; what is tried again comes out right"
forgotten="$reported; a descriptor that the kernel refuses to forget stays open"
paused="an error, and a pause of 50 ms; the connection waits, and none is lost"
refused="no runtime, and an error that says what was missing"
late="nothing but delay"
waits="the job waits for a thread that there is"
# What the system says, by its number: that is what a build returns.
no_file="Too many open files (os error 24)"
no_thread="Resource temporarily unavailable (os error 11)"

# A fault, what is promised then, the call, what strace makes of it, what the workload must say
# (OK, if nothing), and its options. Where nothing is built, it says so.
#
# strace counts the calls of each thread by themselves: with one worker it is the main thread that
# starts those for jobs, after the worker's and the monitor.
faults="\
epoll_pwait: EINTR|$retried|epoll_pwait|error=EINTR:when=2+2
recvfrom: EINTR|$retried|recvfrom|error=EINTR:when=2+3
sendto: EINTR|$retried|sendto|error=EINTR:when=2+3
write to the eventfd: EINTR|$retried|write|error=EINTR:when=1+2
accept4: EINTR|$retried|accept4|error=EINTR:when=2+3
accept4: ECONNABORTED|passed over; none of the others is lost|accept4|error=ECONNABORTED:when=2+3
accept4: EMFILE|$paused|accept4|error=EMFILE:when=2+5|accept: $no_file
accept4: ENFILE|$paused|accept4|error=ENFILE:when=2+5|accept: Too many open files in system
accept4: ENOBUFS|$paused|accept4|error=ENOBUFS:when=2+5|accept: No buffer space
accept4: ENOMEM|$paused|accept4|error=ENOMEM:when=2+5|accept: Cannot allocate memory
epoll_ctl: ENOMEM|$forgotten|epoll_ctl|error=ENOMEM:when=8+7|Cannot allocate memory|--tries 9 --leaks 40
epoll_ctl: ENOSPC|$forgotten|epoll_ctl|error=ENOSPC:when=8+7|No space left|--tries 9 --leaks 40
socket: EMFILE|$reported|socket|error=EMFILE:when=4+5|Too many open files|--tries 9
connect: ENETUNREACH|$reported|connect|error=ENETUNREACH:when=4+5|Network is unreachable|--tries 9
sendto of a datagram: ENOBUFS|$reported|sendto|error=ENOBUFS:when=2+3|a datagram: No buffer space|--connections 0
epoll_create1: EMFILE|$refused|epoll_create1|error=EMFILE:when=1|$no_file
eventfd2: EMFILE|$refused|eventfd2|error=EMFILE:when=2|$no_file
timerfd_create: EMFILE|$refused|timerfd_create|error=EMFILE:when=2|$no_file
epoll_ctl: ENOMEM at the start|$refused|epoll_ctl|error=ENOMEM:when=3|Cannot allocate memory (os error 12)
clone3: EAGAIN, first worker|$refused|clone3|error=EAGAIN:when=1|$no_thread
clone3: EAGAIN, second worker|$refused|clone3|error=EAGAIN:when=2|$no_thread
clone3: EAGAIN, monitor|$refused|clone3|error=EAGAIN:when=3|$no_thread
clone3: EAGAIN, second thread for jobs|$waits|clone3|error=EAGAIN:when=4||--wakes 0 --workers 1
clone3: EAGAIN, all threads for jobs but one|$waits|clone3|error=EAGAIN:when=4+1||--wakes 0 --workers 1
epoll_pwait: 3 ms late, before|$late|epoll_pwait|delay_enter=3ms
epoll_pwait: 3 ms late, after|$late|epoll_pwait|delay_exit=3ms
epoll_ctl: 3 ms late|$late|epoll_ctl|delay_exit=3ms
accept4: 3 ms late|$late|accept4|delay_exit=3ms
connect: 3 ms late|$late|connect|delay_exit=3ms
recvfrom: 3 ms late, before|$late|recvfrom|delay_enter=3ms:when=1+3
recvfrom: 3 ms late, after|$late|recvfrom|delay_exit=3ms:when=2+3
sendto: 3 ms late|$late|sendto|delay_exit=3ms:when=1+2
futex: 2 ms late, before|$late|futex|delay_enter=2ms
futex: 2 ms late, after|$late|futex|delay_exit=2ms
timerfd_settime: 3 ms late|$late|timerfd_settime|delay_exit=3ms
write to the eventfd: 3 ms late, before|$late|write|delay_enter=3ms
write to the eventfd: 3 ms late, after|$late|write|delay_exit=3ms"

# A line for each call of $calls: its name, and 1 if strace had a hand in it. Those that another
# thread came between are told in two lines.
calls_made() {
  awk '{
    had = /\(INJECTED\)|\(DELAYED\)/ ? 1 : 0
    sub(/^[0-9]+ +/, "")
    if (/^<\.\.\. /) {
      if (had) print $2, had
    } else if (index($0, "(")) {
      print substr($0, 1, index($0, "(") - 1), had
    }
  }' "$calls"
}

# strace, for these calls; of those of `write` only those to an eventfd.
trace() {
  strace=(strace -f -qq -o "$calls" -e "trace=$1")
  [ "$1" != write ] || strace+=(-P 'anon_inode:[eventfd]')
}

try_faults() {
  local name promised call inject says options injected=0 count=0 limits=0
  local -A usual=()
  tool cargo build --release -p arc-trials
  note "| fault | promised | seen |"
  note "|---|---|---|"

  # How often each call is made when nothing fails.
  for call in "$(cut -d'|' -f3 <<<"$faults" | grep -vx write | sort -u | paste -sd,)" write; do
    trace "$call"
    tool -t $limit "${strace[@]}" $workload
    while read -r name _; do
      usual[$name]=$((${usual[$name]:-0} + 1))
    done < <(calls_made)
  done

  while IFS='|' read -r name promised call inject says options; do
    one_fault
    count=$((count + 1))
  done <<<"$faults"
  limits
  clocks
  children
  tried "$count faults, $injected injections; $limits limits; 2 clocks; processes forked"
}

# Brings a fault about.
one_fault() {
  local code=0 made had most told
  [ "$promised" != "$refused" ] || code=3
  trace "$call"
  # shellcheck disable=SC2086 # The options are words.
  tool -t $limit -c $code "${strace[@]}" -e "inject=$call:$inject" $workload $options
  said "${says:-OK}" || fail "$name: it did not say ${says:-OK}"
  [ $code != 0 ] || grep -qx OK <<<"$printed" || fail "$name: it did not say OK"

  made=$(calls_made | wc -l)
  had=$(calls_made | grep -c ' 1$') || fail "$name: nothing was injected"
  # What spins makes a hundred thousand calls while the others take their time.
  most=$((4 * ${usual[$call]:-0} + 10 * had + 200))
  [ "$made" -le $most ] || fail "$name: $made calls, more than $most"
  injected=$((injected + had))
  told=$(sed -n 's/^told: \(.*\)/`\1`/p; s/^NO RUNTIME.*/`&`/p' <<<"$printed" | paste -sd, |
    sed 's/`,`/`, `/g')
  row "$name" "$promised" "$had of $made calls: ${told:-no error}"
}

# Runs the work within limits of what a process may have: it comes out right, or it is not begun.
limits() {
  local number seen few
  few="--tries 20 --patience-ms 100 --at-once 2 --connections 6 --jobs 5"
  seen=()
  for number in $(seq 4 3 39); do
    within "all right|no runtime|an error" prlimit "--nofile=$number" $workload $few
  done
  row "4 to 37 descriptors" "an error, or all comes out right" "$(seen_in_all)"
  seen=()
  for number in 8 16 24 32 64 128 256 1024; do
    within "all right|no runtime|aborted for want of memory|not loaded by the system" \
      prlimit "--as=$((number << 20))" $workload --tries 9 --jobs 0 --wakes 0
  done
  row "8 to 1024 MiB of addresses" \
    "no runtime, or all comes out right; Rust aborts when it gets no memory" "$(seen_in_all)"
  seen=()
  # Root has no such limit; and of whoever has no name, nobody else runs a process.
  for number in 1 2 3 4 5 6; do
    within "all right|no runtime" prlimit "--nproc=$number" \
      setpriv --reuid=61234 --regid=61234 --clear-groups $workload --jobs 0 --wakes 0
  done
  row "1 to 6 threads" "no runtime, or all comes out right" "$(seen_in_all)"
}

seen_in_all() {
  printf '%s\n' "${seen[@]}" | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 x /' | paste -sd, |
    sed 's/,/, /g'
}

# Runs a command that may end in these ways, and adds to $seen in which.
within() {
  local ways=$1 way
  shift
  tool -t $limit -c "0 1 3 127 134" "$@"
  case $'\n'$printed$'\n' in
    *$'\nOK\n'*) way="all right" ;;
    *"NO RUNTIME"*) way="no runtime" ;;
    *"told: "* | *$'\nFAILED: '*) way="an error" ;;
    *"memory allocation of"*) way="aborted for want of memory" ;;
    *"error while loading shared libraries"*) way="not loaded by the system" ;;
    *) way="nothing of that" ;;
  esac
  # An account that was begun must be a right one.
  if grep -qx WRONG <<<"$printed" ||
    { said "account: " && ! { said "wrong=0" && said "descriptors_left=0"; }; }; then
    way="wrong"
  fi
  case "|$ways|" in
    *"|$way|"*) seen+=("$way") ;;
    *) fail "\`$*\`: it neither came right nor told why: $way" ;;
  esac
  limits=$((limits + 1))
}

# Only the clock that never jumps is used. In a time namespace it stands elsewhere.
clocks() {
  local waited days seconds
  trace timerfd_create,timerfd_settime,futex,epoll_pwait,clock_nanosleep,clock_gettime
  tool -t $limit "${strace[@]}" $workload
  # To join a thread glibc names that clock, and waits for ever by it.
  waited=$(grep REALTIME "$calls" | grep -vF ', NULL, FUTEX' | head -n 1) || true
  [ -z "$waited" ] || fail "a clock is waited for that may jump: $waited"
  grep -qF 'timerfd_create(CLOCK_MONOTONIC' "$calls" || fail "there is no timer of CLOCK_MONOTONIC"
  for days in 1000 30000; do
    seconds=$((days * 86400))
    tool -t $limit unshare --time --monotonic $seconds --boottime $seconds $workload
  done
  row "the clock is set" "no timer notices: only CLOCK_MONOTONIC is used" \
    "$(wc -l <"$calls") waits, none for CLOCK_REALTIME; right in 2 time namespaces"
}

# Processes are forked off and executed while the work goes on.
children() {
  tool -t $limit $workload --children 100 --connections 200
  said "children=100 " || fail "too few processes"
  row "fork and exec in the midst of it" "no descriptor of arc's is inherited" \
    "100 processes, all right"
}
