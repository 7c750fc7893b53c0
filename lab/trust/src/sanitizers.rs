//! ThreadSanitizer, AddressSanitizer, LeakSanitizer and valgrind.

use std::fs;
use std::path::{Path, PathBuf};

use crate::platforms::{Exception, FOLDER, TESTS, run_tests};
use crate::tool::{self, Tool};
use crate::{Outcome, Trial};
use crate::{debian, workspace_root};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial {
            name: "tsan",
            what: "data races, by ThreadSanitizer, the standard library included",
            on_demand: false,
            missing: || debian::missing_of(&[(TSAN, "libclang-rt-22-dev"), SYMBOLIZER]),
            run: tsan,
        },
        Trial {
            name: "asan",
            what: "memory errors and leaks, by AddressSanitizer and LeakSanitizer",
            on_demand: false,
            missing: || debian::missing_of(&[(ASAN, "libclang-rt-22-dev"), SYMBOLIZER]),
            run: asan,
        },
        Trial {
            name: "valgrind",
            what: "what ended runtimes leave: memory, invalid accesses, descriptors",
            on_demand: false,
            missing: || (!Path::new(VALGRIND).exists()).then(|| "valgrind".to_owned()),
            run: valgrind,
        },
    ]
}

/// Has what is reported name lines of the source, which tests do without.
const LINES: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");

const TARGET: &str = "x86_64-unknown-linux-gnu";
const TSAN: &str = "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.tsan-x86_64.a";
const ASAN: &str = "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.asan-x86_64.a";

/// Without it, what is reported names no lines.
const SYMBOLIZER: debian::Needed = ("/usr/bin/llvm-symbolizer-22", "llvm-22");

/// The compiler's flags: Debian's compiler comes without the sanitizers' libraries, clang
/// has them.
fn flags(sanitizer: &str, library: &str) -> String {
    let linked = ["-Wl,--whole-archive", library, "-Wl,--no-whole-archive"];
    let linked: String = linked.iter().map(|it| format!(" -Zpre-link-args={it}")).collect();
    format!("-Zsanitizer={sanitizer} -Zexternal-clangrt{linked}")
}

/// Two threads write without order. It has to be reported: without that, that nothing is
/// reported says nothing.
const RACE: &str = "\
static mut SHARED: u64 = 0;
fn main() {
    let add = || (0..1000).for_each(|_| unsafe { SHARED += 1 });
    std::thread::scope(|scope| drop((scope.spawn(add), add())));
}
";

/// A program that forgets memory, and one that reads what was freed: the same.
const LEAK: &str = "fn main() { std::mem::forget(std::hint::black_box(vec![1_u8; 100])) }";
const FREED: &str = "\
fn main() {
    let bytes = std::hint::black_box(vec![1_u8; 100]);
    let freed = bytes.as_ptr();
    drop(bytes);
    println!(\"{}\", unsafe { *freed });
}
";

/// The program fails when it is run, and tells `report`.
fn is_told(report: &str, program: &str, flags: &str) -> Result<(), String> {
    // Its standard library is the one that is there, which no sanitizer knows.
    let compiler = Tool::new("/usr/bin/rustc -Cunsafe-allow-abi-mismatch=sanitizer");
    let compiler = flags.split(' ').fold(compiler, Tool::arg).env("RUSTC_BOOTSTRAP", "1");
    let (status, printed) = Tool::new("").arg(built(program, compiler)?).outcome()?;
    match !status.success() && printed.contains(report) {
        true => Ok(()),
        false => Err(format!("a program that should be told of is not: {report}")),
    }
}

/// Where the program is when it is built.
fn built(program: &str, compiler: Tool) -> Result<PathBuf, String> {
    let folder = workspace_root().join("target/trust/faulty");
    let (source, binary) = (folder.join("main.rs"), folder.join("main"));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::write(&source, program).map_err(|error| error.to_string())?;
    compiler.arg("-g").arg("-o").arg(&binary).arg(source).run()?;
    Ok(binary)
}

/// What AddressSanitizer and LeakSanitizer cannot be asked.
const NOT_UNDER_ASAN: [Exception; 3] = [
    ("no_threads_and_no_descriptors_and_no_memory", "it keeps freed memory"),
    ("guards_that_are_dropped_out_of_order", "leaves a runtime on purpose"),
    ("type_that_gives_another_descriptor", "what the kernel may watch is left open on purpose"),
];

/// What ThreadSanitizer cannot be asked.
const NOT_UNDER_TSAN: [Exception; 2] = [
    ("no_threads_and_no_descriptors_and_no_memory", "it keeps books of memory and threads"),
    ("tasks_take_turns", "it needs short polls, and they are too slow there"),
];

/// What is left out of arc-util's tests.
const NOT_OF_UTIL: [Exception; 3] = [
    ("clients_finish_their_lines", "it needs an example's program"),
    ("what_would_be_unsound_does_not_compile", "nothing of it runs"),
    ("tasks_whose_drop_spawns_the_next_one", "leaks a task on purpose"),
];

fn suite(sanitizer: &str, library: &str, build: &str) -> Result<Outcome, String> {
    let flags = flags(sanitizer, library);
    let line = |what: &str| {
        let tool = Tool::debian_cargo(&format!("{what} {build} --target {TARGET}"));
        let tool = tool.env("RUSTFLAGS", &flags).env(LINES.0, LINES.1);
        // Many inputs are another trial's; here they are slow.
        let tool = tool.env("PROPTEST_CASES", "16").env("RUST_BACKTRACE", "0");
        tool.env("TSAN_OPTIONS", "atexit_sleep_ms=0")
    };
    let exceptions: &[_] = if sanitizer == "address" { &NOT_UNDER_ASAN } else { &NOT_UNDER_TSAN };
    let runtime = run_tests(line(TESTS), exceptions)?;
    let util = run_tests(line("test -p arc-util --lib --tests"), &NOT_OF_UTIL)?;
    let tried = format!("arc: {}; arc-util: {}", runtime.tried, util.tried);
    Ok(Outcome { tried, found: String::new() })
}

fn tsan() -> Result<Outcome, String> {
    is_told("main.rs:3:", RACE, &flags("thread", TSAN))?;
    suite("thread", TSAN, &format!("-Zbuild-std --target-dir {FOLDER}"))
}

fn asan() -> Result<Outcome, String> {
    is_told("detected memory leaks", LEAK, &flags("address", ASAN))?;
    is_told("heap-use-after-free", FREED, &flags("address", ASAN))?;
    suite("address", ASAN, "--target-dir target/trust/asan")
}

const VALGRIND: &str = "/usr/bin/valgrind";

/// Memory that something still refers to is not lost: arc keeps the places of its tasks for
/// later ones. Threads take turns, or one that waits for another would spin for long.
const OPTIONS: &str = "--quiet --fair-sched=yes --leak-check=full --num-callers=25 \
                       --errors-for-leak-kinds=definite,indirect --error-exitcode=99 \
                       --show-leak-kinds=definite,indirect --track-fds=yes -v";

/// What it must be told of, too: memory and a descriptor that are left.
const LEFT: &str = "\
fn main() {
    std::mem::forget(std::hint::black_box(vec![1_u8; 100]));
    std::mem::forget(std::fs::File::open(\"/dev/null\"));
}
";

fn valgrind() -> Result<Outcome, String> {
    let program = built(LEFT, Tool::new("rustc"))?;
    let checked = Tool::new(&format!("{VALGRIND} {OPTIONS}")).arg(program).codes(&[99]).run();
    if !checked.is_ok_and(|told| told.contains("definitely lost") && descriptors_left(&told) > 0) {
        return Err("what a program leaves on purpose is not told".to_owned());
    }
    // Those that start processes of their own count what their runtimes leave by themselves.
    // Races are another trial's: valgrind runs one thread at a time, and slowly.
    let line = "cargo test -p arc-runtime --test scenarios shutdown:: -- --test-threads=1";
    let tool = Tool::new(line).arg("--skip").arg("leaves_nothing").arg("--skip").arg("race_with");
    let runner = format!("{VALGRIND} {OPTIONS}");
    let tool = tool.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", runner);
    let printed = tool.env(LINES.0, LINES.1).run()?;
    let (passed, _) = tool::passed(&printed);
    let left = descriptors_left(&printed);
    if left > 0 {
        return Err(format!("{left} descriptors are left"));
    }
    let allocations = number_after(&printed, "total heap usage: ");
    if passed == 0 || allocations.is_empty() {
        return Err(format!("{passed} tests, {allocations} allocations: it did not run"));
    }
    let tried = format!("{passed} tests, {allocations} allocations");
    Ok(Outcome { tried, found: String::new() })
}

/// How many descriptors are open at the end that the program was not started with.
fn descriptors_left(printed: &str) -> usize {
    let lines: Vec<_> = printed.lines().collect();
    let is_open = |line: &str| line.starts_with("==") && line.contains("== Open ");
    let is_own = |pair: &[&str]| is_open(pair[0]) && !pair[1].contains("<inherited from parent>");
    lines.windows(2).filter(|pair| is_own(pair)).count()
}

/// The number, with commas or not, that stands after these words.
fn number_after<'a>(printed: &'a str, words: &str) -> &'a str {
    let rest = printed.split_once(words).map_or("", |(_, rest)| rest);
    rest.split(|it: char| !it.is_ascii_digit() && it != ',').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{descriptors_left, number_after};

    #[test]
    fn descriptors_that_are_left_are_told_from_inherited_ones() {
        let printed = "==7== FILE DESCRIPTORS: 6 open (3 std) at exit.\n\
                       ==7== Open file descriptor 10: /dev/null\n\
                       ==7==    <inherited from parent>\n\
                       ==7== Open AF_INET socket 4: 127.0.0.1:80 <-> unbound\n\
                       ==7==    at 0x1: socket (syscall-template.S:120)\n\
                       ==7== Open file descriptor 3:\n==7==    at 0x1: epoll_create1\n";
        assert_eq!(descriptors_left(printed), 2);
    }

    #[test]
    fn numbers_are_found_behind_their_words() {
        assert_eq!(number_after("heap usage: 372,893 allocs, 3", "usage: "), "372,893");
        assert_eq!(number_after("nothing", "usage: "), "");
    }
}
