# What the trials share: to run a program within a limit, and to keep and count what it printed.

# The programs' output is kept there.
work=target/trust
mkdir -p "$work"
export RUSTUP_AUTO_INSTALL=0
# The trials run what they have built in target/.
unset CARGO_TARGET_DIR

names=()
declare -A what=() is_on_demand=()

# A trial `NAME` is the function `try_NAME`. What the machine lacks, `lacks_NAME` prints.
trial() {
  names+=("$1")
  what[$1]=$2
}

# A trial that takes too long to be run without being named.
on_demand() {
  trial "$1" "$2"
  is_on_demand[$1]=yes
}

# Ends the trial: this was found.
fail() {
  printf '%s' "$*" >"$work/found"
  exit 1
}

# Says what was tried, and how often.
tried() {
  printf '%s' "$*" >"$work/tried"
}

# Prints a line, and keeps it beside what the programs print.
note() {
  printf '%s\n' "$*" | tee -a "$log"
}

# A line of a table: what is broken, what is promised then, and what was seen.
row() {
  note "| $1 | $2 | $3 |"
}

# Runs a program; $printed is what it printed, and $status how it ended. The trial fails when it
# ends with none of the codes after -c (0), or takes longer than the seconds after -t (600).
tool() {
  local OPTIND=1 option limit=600 codes=0 before
  while getopts t:c: option; do
    case $option in
      t) limit=$OPTARG ;;
      c) codes=$OPTARG ;;
      *) fail "no option of tool" ;;
    esac
  done
  shift $((OPTIND - 1))
  note "\$ $*"
  before=$(wc -c <"$log")
  status=0
  timeout --kill-after=5 "$limit" "$@" </dev/null >>"$log" 2>&1 || status=$?
  printed=$(tail -c "+$((before + 1))" "$log" | tr -d '\0')
  case " $codes " in
    *" $status "* | *" any "*) return ;;
  esac

  tail -n 40 <<<"$printed"
  # What `timeout` ends with when it had to end the program, or to kill it.
  case $status in
    124 | 137) fail "\`$*\`: over $limit s" ;;
    *) fail "\`$*\`: exit status $status" ;;
  esac
}

# Whether it was printed: a text, which is no pattern.
said() {
  grep -qF -- "$1" <<<"$printed"
}

# How many tests passed, and in how many programs, by what cargo's test programs printed. A test may
# run itself in a process of its own, which has a result as well: where cargo tells which program it
# runs, only the last result before the next program counts.
passed() {
  awk -v tells="$(grep -c 'Running ' <<<"$1")" '
    /^ *Running / { is_same = 0 }
    /^test result: ok\. / {
      if (is_same) { sum -= last } else { programs++ }
      last = $4
      sum += last
      is_same = tells > 0
    }
    END { print sum + 0, programs + 0 }' <<<"$1"
}

# Sets $tests to how many passed, and $counted to the same in words. None at all is a failure: an
# emulator may succeed at doing nothing.
count_tests() {
  local programs
  read -r tests programs <<<"$(passed "$printed")"
  [ "$tests" -gt 0 ] || fail "no test has passed"
  counted="$tests tests in $programs programs"
}

# Which of these programs are not there.
lacks_programs() {
  local program
  [ "$(uname)" = Linux ] || echo "Linux"
  for program in "$@"; do
    command -v "$program" >/dev/null || echo "$program"
  done
}

# Only root may make namespaces.
lacks_root() {
  [ "$(id -u)" = 0 ] || echo "root"
}

# Debian's packages that lack, of pairs of a file and the package that has it.
lacks_packages() {
  while [ $# -gt 0 ]; do
    [ -e "$1" ] || echo "Debian's package $2"
    shift 2
  done
}

# Debian's compiler. The standard library of another platform is not on a machine that has only its
# own; Debian's packages bring its source, so that it can be built for any target and with any flag.
lacks_debian() {
  lacks_packages /usr/bin/rustc rustc-web /usr/bin/cargo cargo-web \
    /usr/bin/cargo-clippy rust-web-clippy \
    /usr/lib/rustlib/src/rust/library/std/Cargo.toml rust-web-src "$@"
}

# The environment for it. Only a compiler that says it is unstable builds the standard library.
debian=(env -u RUSTUP_TOOLCHAIN -u CARGO RUSTC_BOOTSTRAP=1 "PATH=/usr/bin:$PATH"
  RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc CARGO_INCREMENTAL=0)
debian_cargo=("${debian[@]}" /usr/bin/cargo)
