# ThreadSanitizer, AddressSanitizer, LeakSanitizer and valgrind. Each must first tell of a program
# that is faulty on purpose: without that, that nothing is reported says nothing.

trial tsan "data races, by ThreadSanitizer, the standard library included"
trial asan "memory errors and leaks, by AddressSanitizer and LeakSanitizer"
trial valgrind "what ended runtimes leave: memory, invalid accesses, descriptors"

clang_rt=/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt

# Without the symbolizer, what is reported names no lines.
lacks_tsan() {
  lacks_debian $clang_rt.tsan-x86_64.a libclang-rt-22-dev /usr/bin/llvm-symbolizer-22 llvm-22
}

lacks_asan() {
  lacks_debian $clang_rt.asan-x86_64.a libclang-rt-22-dev /usr/bin/llvm-symbolizer-22 llvm-22
}

lacks_valgrind() {
  lacks_packages /usr/bin/valgrind valgrind
}

# The compiler's flags: Debian's compiler comes without the sanitizers' libraries, clang has them.
sanitizer_flags() {
  local word
  printf -- '-Zsanitizer=%s -Zexternal-clangrt' "$1"
  for word in -Wl,--whole-archive "$clang_rt.$2-x86_64.a" -Wl,--no-whole-archive; do
    printf ' -Zpre-link-args=%s' "$word"
  done
}

# Builds the faulty program that is read, with a compiler.
build_faulty() {
  mkdir -p $work/faulty
  cat >$work/faulty/main.rs
  tool "$@" -g -o $work/faulty/main $work/faulty/main.rs
}

# The program that is read fails when it is run, and $1 is told.
is_told() {
  local flags=$2
  # Its standard library is the one that is there, which no sanitizer knows.
  # shellcheck disable=SC2086 # The flags are words.
  build_faulty env RUSTC_BOOTSTRAP=1 /usr/bin/rustc -Cunsafe-allow-abi-mismatch=sanitizer $flags
  tool -c any $work/faulty/main
  [ "$status" -ne 0 ] && said "$1" || fail "a program that should be told of is not: $1"
}

# Runs the tests of arc and of arc-util, without those that the sanitizer cannot be asked.
# Many inputs are another trial's; here they are slow. A test forks, and its child starts threads.
suite() {
  local flags=$1 build=$2 exceptions=$3 of_util=${4-} arc
  local sanitized=("${debian[@]}" "RUSTFLAGS=$flags" CARGO_PROFILE_DEV_DEBUG=line-tables-only
    PROPTEST_CASES=16 RUST_BACKTRACE=0 TSAN_OPTIONS=atexit_sleep_ms=0:die_after_fork=0
    /usr/bin/cargo)
  local target="--target x86_64-unknown-linux-gnu"
  # shellcheck disable=SC2086
  run_tests "$exceptions" "${sanitized[@]}" test -p arc-runtime --lib --tests $build $target
  arc=$counted
  # shellcheck disable=SC2086
  run_tests "what_would_be_unsound_does_not_compile: nothing of it runs
    tasks_whose_drop_spawns_the_next_one: leaks a task on purpose
    $of_util" \
    "${sanitized[@]}" test -p arc-util --lib --tests $build $target
  tried "arc: $arc; arc-util: $counted"
}

try_tsan() {
  local flags
  flags=$(sanitizer_flags thread tsan)
  is_told main.rs:3: "$flags" <<'RUST'
static mut SHARED: u64 = 0;
fn main() {
    let add = || (0..1000).for_each(|_| unsafe { SHARED += 1 });
    std::thread::scope(|scope| drop((scope.spawn(add), add())));
}
RUST
  suite "$flags" "-Zbuild-std --target-dir $work/std" \
    "no_threads_and_no_descriptors_and_no_memory: it keeps books of memory and threads
    tasks_take_turns: it needs short polls, and they are too slow there" \
    "large_futures: functions need more stack there
    each_signal_asks_for_each_child: signals wait there until their thread calls the C library"
}

try_asan() {
  local flags
  flags=$(sanitizer_flags address asan)
  is_told "detected memory leaks" "$flags" <<'RUST'
fn main() { std::mem::forget(std::hint::black_box(vec![1_u8; 100])) }
RUST
  is_told heap-use-after-free "$flags" <<'RUST'
fn main() {
    let bytes = std::hint::black_box(vec![1_u8; 100]);
    let freed = bytes.as_ptr();
    drop(bytes);
    println!("{}", unsafe { *freed });
}
RUST
  suite "$flags" "--target-dir $work/asan" \
    "no_threads_and_no_descriptors_and_no_memory: it keeps freed memory
    guards_that_are_dropped_out_of_order: leaves a runtime on purpose
    type_that_gives_another_descriptor: what the kernel may watch is left open on purpose"
}

# Memory that something still refers to is not lost: what a process has once stays until it ends.
# Threads take turns, or one that waits for another would spin for long.
valgrind="/usr/bin/valgrind --quiet --fair-sched=yes --leak-check=full --num-callers=25 \
--errors-for-leak-kinds=definite,indirect --error-exitcode=99 \
--show-leak-kinds=definite,indirect --track-fds=yes -v"

# How many descriptors are open at the end that the program was not started with.
descriptors_left() {
  awk 'is_open && !/<inherited from parent>/ { left++ }
    { is_open = /^==.*== Open / }
    END { print left + 0 }' <<<"$printed"
}

try_valgrind() {
  local allocations
  build_faulty rustc <<'RUST'
fn main() {
    std::mem::forget(std::hint::black_box(vec![1_u8; 100]));
    std::mem::forget(std::fs::File::open("/dev/null"));
}
RUST
  # shellcheck disable=SC2086
  tool -c 99 $valgrind $work/faulty/main
  said "definitely lost" && [ "$(descriptors_left)" -gt 0 ] ||
    fail "what a program leaves on purpose is not told"

  # Those that start processes of their own count what their runtimes leave by themselves. Races are
  # another trial's: valgrind runs one thread at a time, and slowly.
  tool env "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$valgrind" \
    CARGO_PROFILE_DEV_DEBUG=line-tables-only \
    cargo test -p arc-runtime --test scenarios shutdown:: -- --test-threads=1 \
    --skip leaves_nothing --skip race_with
  count_tests
  [ "$(descriptors_left)" -eq 0 ] || fail "$(descriptors_left) descriptors are left"
  allocations=$(sed -n 's/.*total heap usage: \([0-9,]*\).*/\1/p' <<<"$printed" | head -n 1)
  [ -n "$allocations" ] || fail "no allocations: it did not run"
  tried "$tests tests, $allocations allocations"
}
