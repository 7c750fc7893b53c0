# Random inputs against references: more of them than in the tests of every day; inputs that make no
# sense; and everything at random, with an account of it.

trial properties \
  "queues, wheel, timers, \`Sleep::reset\` and macros do what a reference does"
trial input "every constructor and option with values that make no sense"
trial soak "everything at random for a minute, every task and byte accounted for"
on_demand soak-hour "the same for an hour"

try_properties() {
  local properties=0 cases=0
  properties_in "-p arc-runtime --lib" 2000 wheel_does_what_a_sorted_map_does \
    queues_do_what_their_model_does the_mean_is_a_mean timers_do_what_their_model_does
  properties_in "-p arc-runtime --test scenarios" 10000 \
    timers_that_are_reset_do_what_an_instant_does
  properties_in "-p arc-macros --test tokens" 20000 \
    macros_do_what_they_should_with_any_tokens macros_do_what_they_should_with_any_options
  tried "$properties properties, $cases cases"
}

# Where the properties are, how many cases of each are tried, and their names.
properties_in() {
  local place=$1 each=$2
  shift 2
  # shellcheck disable=SC2086 # The place is words.
  tool -t 900 env "PROPTEST_CASES=$each" cargo test $place -- "$@"
  count_tests
  [ "$tests" -eq $# ] || fail "$tests properties in $place, not $#"
  properties=$((properties + tests))
  cases=$((cases + tests * each))
}

try_input() {
  local of inputs=0 sum=0 messages
  for of in "arc-runtime --test scenarios" "arc-util --test util" "arc-compat --test adapters"; do
    # shellcheck disable=SC2086
    tool cargo test -p $of bad_input:: -- --nocapture
    count_tests
    sum=$((sum + tests))
    # Each input has a line of its own, which the harness may have begun.
    inputs=$((inputs + $(grep -cF 'bad input | ' <<<"$printed")))
  done
  tool cargo test -p arc-refused macros -- --nocapture
  messages=$(grep -cF tests/macros/ <<<"$printed") || fail "no wrong use of the macros"
  [ "$inputs" -ge "$sum" ] || fail "$inputs inputs in $sum tests: not all ran"
  tried "$inputs inputs in $sum tests, $messages wrong uses of the macros"
}

try_soak() {
  soak 60
}

try_soak-hour() {
  soak 3600
}

lacks_soak() {
  lacks_programs
}

lacks_soak-hour() {
  lacks_programs
}

# A number of the account.
told() {
  awk -v what="$1" '$1 ~ /^[0-9]+$/ && $0 ~ "^ *[0-9]+ +" what "$" { print $1; found = 1; exit }
    END { exit !found }' <<<"$printed" || fail "the soak does not tell: $1"
}

soak() {
  local runtimes tasks cancelled panicked lost connections bytes
  tool cargo build --release -p arc-trials
  tool -t "$(($1 + 120))" target/release/soak --seconds "$1"
  runtimes=$(told "runtimes built and ended")
  tasks=$(told "futures made")
  cancelled=$(told "handles: cancelled")
  panicked=$(told "handles: panicked")
  lost=$(told "tasks lost")
  connections=$(told "connections made")
  bytes=$(told "bytes received and compared")
  tried "$runtimes runtimes, $tasks tasks ($cancelled cancelled, $panicked panicked, $lost lost)," \
    "$connections connections, $((bytes / 1000000)) MB compared"
}
