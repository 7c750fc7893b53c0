#!/usr/bin/env bash
# Tests of what the trials count by: `cargo test -p arc-trust` runs it.
set -uo pipefail
source "$(dirname "$0")/run"

is() {
  if [ "$1" != "$2" ]; then
    printf 'line %s: %q is not %q\n' "${BASH_LINENO[0]}" "$1" "$2"
    exit 1
  fi
}

# Passed tests are added up.
is "$(passed "test result: ok. 12 passed; 0 failed
x
test result: ok. 3 passed; 0
test result: FAILED. 9 passed; 1 failed")" "15 2"

# Tests of processes that tests start are not counted twice.
is "$(passed "     Running tests/a.rs (a)
test result: ok. 1 passed; 0 failed
test result: ok. 7 passed; 0 failed
     Running tests/b.rs (b)
test result: ok. 2 passed; 0 failed")" "9 2"

# What models tried is added up.
printed="test a ... model a: 12 schedules
model b: 30 schedules
model c: 5 x"
is "$(sum_of schedules)" 42

# Descriptors that are left are told from inherited ones.
printed="==7== FILE DESCRIPTORS: 6 open (3 std) at exit.
==7== Open file descriptor 10: /dev/null
==7==    <inherited from parent>
==7== Open AF_INET socket 4: 127.0.0.1:80 <-> unbound
==7==    at 0x1: socket (syscall-template.S:120)
==7== Open file descriptor 3:
==7==    at 0x1: epoll_create1"
is "$(descriptors_left)" 2

# The numbers of an account are found by their whole names.
printed="account: whole=4 given_up=0 broken=1 bytes=77"
is "$(count whole)/$(count broken)/$(count bytes)" 4/1/77
printed="  12 tasks lost
  7 futures made"
is "$(told "futures made")" 7

# Calls that were interrupted by another thread are counted once.
calls=$(mktemp)
trap 'rm -f "$calls" "$calls.page" "$calls.rows"' EXIT
cat >"$calls" <<'CALLS'
12 accept4(3, NULL) = -1 EMFILE (Too many open files) (INJECTED)
12 accept4(3,  <unfinished ...>
13 futex(0x1, FUTEX_WAKE) = 1
12 <... accept4 resumed>) = 4
13 futex(0x1,  <unfinished ...>
13 <... futex resumed>) = 0 (DELAYED)
13 +++ exited with 0 +++
CALLS
is "$(calls_made | paste -sd,)" "accept4 1,accept4 0,futex 0,futex 0,futex 1"

# What was not run keeps its line.
names=(a b c d)
printf '%s\n' text "$begin" "$table_head" "| b | old |" "| c | old |" "$end" more >"$calls.page"
printf '%s\n' "| a | new |" "| c | new |" >"$calls.rows"
is "$(replaced "$calls.page" "$calls.rows")" "text
$begin

$table_head
| a | new |
| b | old |
| c | new |

$end
more"

# A line of the commit that is checked out has no mark, and one of a commit that nobody knows has.
head=$(git rev-parse --short HEAD)
rows="| a | b | c | nothing | 1 | $head (older src) |
| b | b | c | nothing | 1 | 0000000+ |
text"
is "$(marked <<<"$rows")" "| a | b | c | nothing | 1 | $head |
| b | b | c | nothing | 1 | 0000000+ (older src) |
text"
echo "OK"
