# The tests on other systems and processors, and over other ways to wait. On demand, all of them: the
# rest fills an hour.

on_demand clippy "libraries and tests compile for Windows, macOS, FreeBSD, aarch64; no warning"
on_demand windows "the tests as Windows programs, over AFD, under wine"
on_demand aarch64 "the tests as programs for 64-bit Arm, by qemu"
on_demand oneshot "the tests over polling's oneshot epoll, what other systems use"
on_demand pipe "the same, with the pipe that polling has where there is no eventfd"
on_demand poll "the tests over polling's poll(2)"

# What rustc makes the import libraries of the GNU platform with comes with binutils.
lacks_clippy() {
  lacks_debian /usr/bin/x86_64-w64-mingw32-dlltool binutils-mingw-w64-x86-64
}

lacks_windows() {
  lacks_debian /usr/bin/x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 /usr/lib/wine/wine64 wine64
}

lacks_aarch64() {
  lacks_debian /usr/bin/aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu \
    /usr/aarch64-linux-gnu/lib/libc.so.6 libc6-dev-arm64-cross \
    /usr/bin/qemu-aarch64-static qemu-user-static
}

# Runs tests with a command, without the exceptions: lines of a test's name and why it does not hold
# there. What takes more time than elsewhere has it: see ARC_TEST_SLOWLY in the tests.
run_tests() {
  local exceptions=$1 line skips=()
  shift
  while read -r line; do
    [ -z "$line" ] || skips+=(--skip "${line%%:*}")
  done <<<"$exceptions"
  tool -t 1500 env ARC_TEST_SLOWLY=1 "$@" --no-fail-fast -- "${skips[@]}"
  count_tests
  while read -r line; do
    [ -z "$line" ] || counted+="; not $line"
  done <<<"$exceptions"
}

# As the tests with other flags. The step `portable` of CI has the same folder.
over() {
  tool -t 1500 env "RUSTFLAGS=$2" CARGO_INCREMENTAL=0 cargo test -p arc-runtime --lib --tests \
    --target-dir "target/$1" --no-fail-fast
  count_tests
  tried "$counted"
}

try_oneshot() {
  over oneshot "--cfg arc_oneshot"
}

try_pipe() {
  over pipe "--cfg arc_oneshot --cfg polling_test_epoll_pipe"
}

try_poll() {
  over portable "--cfg arc_portable --cfg polling_test_poll_backend"
}

# One platform for each of polling's ways to wait that Linux does not use, and Linux on another
# processor. What other platforms share with one of these has been compiled by another trial.
# ARC_TARGETS restricts it: std is built for each of them, and so CI has two.
try_clippy() {
  local all="x86_64-pc-windows-msvc aarch64-apple-darwin x86_64-unknown-freebsd
    aarch64-unknown-linux-gnu x86_64-pc-windows-gnu"
  # shellcheck disable=SC2206 # The targets are words.
  local targets=(${ARC_TARGETS:-$all})
  local target parts
  for target in "${targets[@]}"; do
    for parts in \
      "-p arc-runtime -p arc-macros -p arc-util -p arc-compat" \
      "-p arc-runtime -p arc-util --all-targets"; do
      # It does not know `const` thread-locals again where the system has no native ones.
      # shellcheck disable=SC2086 # The parts are words.
      tool "${debian_cargo[@]}" clippy -Zbuild-std --target "$target" --target-dir $work/std \
        $parts -- -Dwarnings -Aclippy::missing_const_for_thread_local
    done
  done
  tried "${#targets[@]} targets, with tests"
}

# Runs the programs of inside/ on another platform, with an environment, and adds what they say.
run_stages() {
  local target=$1 programs gaps
  shift
  tool -t 900 "$@" /usr/bin/cargo run --quiet -p arc-inside --bin check --target-dir $work/std -- \
    --target "$target" -Zbuild-std
  programs=$(sed -n 's/^transcripts: //p' <<<"$printed")
  gaps=$(sed -n 's/^gaps: //p' <<<"$printed")
  [ -n "$programs" ] && [ -n "$gaps" ] || fail "the stages of inside/ did not run"
  counted+="; inside/: $programs, gaps: $gaps"
}

# wine takes a socket's error to itself, so that a reset reads as the end of the stream; so it does in
# a program of C.
not_under_wine="hang_up_wakes_a_reader: wine tells a reset as an end
linger_of_zero_resets_the_connection: wine tells a reset as an end
own_shutdown_wakes_the_reader: wine has no event for one's own shutdown
more_buffers_than_the_kernel_takes: wine refuses so many"

try_windows() {
  local target=x86_64-pc-windows-gnu folder=$PWD/$work/wine
  mkdir -p "$folder/prefix"
  # wine lacks the library that std has its random numbers from; Windows has had this function since
  # Windows 10. It is made of the function that wine has.
  cat >"$folder/random.c" <<'C'
unsigned char __stdcall SystemFunction036(void *to, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *to, unsigned long long length) {
    return SystemFunction036(to, (unsigned long)length);
}
C
  tool x86_64-w64-mingw32-gcc -shared -o "$folder/bcryptprimitives.dll" "$folder/random.c" -ladvapi32
  export WINEPREFIX=$folder/prefix WINEDEBUG=-all WINEPATH="Z:${folder//\//\\}"
  # One server for all programs: a new one might meet the last one's end. It would stay for a while.
  trap '/usr/lib/wine/wineserver64 --kill || true' EXIT
  tool /usr/lib/wine/wineserver64 --persistent
  tool /usr/lib/wine/wine64 wineboot --init
  local in_wine=("${debian[@]}" CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=/usr/lib/wine/wine64)
  run_tests "$not_under_wine" "${in_wine[@]}" /usr/bin/cargo test -p arc-runtime --lib --tests \
    -Zbuild-std --target $target --target-dir $work/std
  run_stages $target "${in_wine[@]}"
  tried "$counted"
}

not_under_qemu="want_of_descriptors_is_an_error: qemu needs descriptors, too
when_no_thread_can_be_started: nobody else may run the program
no_threads_and_no_descriptors_and_no_memory: the memory is qemu's own
a_build_that_fails_leaves_no: qemu keeps books of a stack larger than memory
tasks_take_turns: it needs short polls, and they are too slow there"

try_aarch64() {
  local target=aarch64-unknown-linux-gnu tests_of_arc
  local runner="qemu-aarch64-static -L /usr/aarch64-linux-gnu"
  # ARC_TEST_RUNNER is for the processes that tests start.
  local in_qemu=("${debian[@]}" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$runner" "ARC_TEST_RUNNER=$runner")
  run_tests "$not_under_qemu" "${in_qemu[@]}" /usr/bin/cargo test -p arc-runtime --lib --tests \
    -Zbuild-std --target $target --target-dir $work/std
  tests_of_arc=$counted
  # A seed of a simulation means the same there.
  tool -t 900 "${in_qemu[@]}" /usr/bin/cargo test -p arc-sim --test simulation -Zbuild-std \
    --target $target -- seed_means_the_same
  count_tests
  counted="$tests_of_arc; seeds: $counted"
  run_stages $target "${in_qemu[@]}"
  tried "$counted"
}
