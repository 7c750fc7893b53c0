# Model checks: loom for the small protocols, shuttle for the composed runtime.

trial loom "the protocols between threads, in all orders of up to four preemptions"
trial shuttle "the whole runtime over a kernel that is told, in random orders"
trial mutations "the models fail when what they guard is broken"
on_demand statements "each statement of the core is taken out: who misses it"

try_loom() {
  check loom interleavings
}

try_shuttle() {
  check shuttle schedules
}

# Adds up the numbers in `model NAME: NUMBER UNIT`, wherever on a line.
sum_of() {
  awk -v unit="$1" '
    match($0, "model .*: [0-9]+ " unit "$") { sum += $(NF - 1) }
    END { print sum + 0 }' <<<"$printed"
}

# Runs a program of models, each of which prints what it has tried.
check() {
  local sum
  tool -t 1800 cargo test -p arc-models --release --test "$1" -- --nocapture --test-threads=1
  count_tests
  sum=$(sum_of "$2")
  [ "$sum" -ge "$tests" ] || fail "$tests models, $sum $2: they did not run"
  tried "$tests models, $sum $2"
}

# Its lines are kept in target/trust/statements.txt. `cargo run -p arc-trust statements FILE...` tries
# some files alone, and `FILE:LINE` the statements of a line.
try_statements() {
  tool -t 86400 cargo run --quiet -p arc-trust statements
  tried "$(tail -n 1 <<<"$printed")"
  said "SURVIVES: " && fail "$(grep -c "^SURVIVES: " <<<"$printed") that nobody misses"
  said "NEVER RUN: " && fail "$(grep -c "^NEVER RUN: " <<<"$printed") that no test runs"
  return 0
}

try_mutations() {
  tool -t 3600 cargo run --quiet -p arc-trust
  tried "$(tail -n 1 <<<"$printed")"
}
