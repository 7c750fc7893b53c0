//! The tests on other systems and processors, and over other ways to wait.

use std::fs;
use std::time::Duration;

use crate::tool::{self, Tool};
use crate::{Outcome, Trial};
use crate::{debian, workspace_root};

/// A test that does not hold there, and why.
pub type Exception = (&'static str, &'static str);

/// What cannot be told of arc under wine. wine takes a socket's error to itself, so that a
/// reset reads as the end of the stream; so it does in a program of C.
const NOT_UNDER_WINE: [Exception; 4] = [
    ("hang_up_wakes_a_reader", "wine tells a reset as an end"),
    ("linger_of_zero_resets_the_connection", "wine tells a reset as an end"),
    ("own_shutdown_wakes_the_reader", "wine has no event for one's own shutdown"),
    ("more_buffers_than_the_kernel_takes", "wine refuses so many"),
];

/// What qemu's emulation of a process cannot do.
const NOT_UNDER_QEMU: [Exception; 5] = [
    ("want_of_descriptors_is_an_error", "qemu needs descriptors, too"),
    ("when_no_thread_can_be_started", "nobody else may run the program"),
    ("no_threads_and_no_descriptors_and_no_memory", "the memory is qemu's own"),
    ("a_build_that_fails_leaves_no", "qemu keeps books of a stack larger than memory"),
    ("tasks_take_turns", "it needs short polls, and they are too slow there"),
];

/// Where what Debian's compiler builds is kept, for all targets.
pub const FOLDER: &str = "target/trust/std";

/// On demand, all of them: the rest fills half an hour.
pub fn trials() -> Vec<Trial> {
    vec![
        Trial {
            name: "clippy",
            what: "libraries and tests compile for Windows, macOS, FreeBSD, aarch64; no warning",
            on_demand: true,
            missing: || debian::missing_of(&[(DLLTOOL, "binutils-mingw-w64-x86-64")]),
            run: clippy,
        },
        Trial {
            name: "windows",
            what: "the tests as Windows programs, over AFD, under wine",
            on_demand: true,
            missing: || {
                debian::missing_of(&[
                    ("/usr/bin/x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64"),
                    (WINE, "wine64"),
                ])
            },
            run: windows,
        },
        Trial {
            name: "aarch64",
            what: "the tests as programs for 64-bit Arm, by qemu",
            on_demand: true,
            missing: || {
                debian::missing_of(&[
                    ("/usr/bin/aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
                    ("/usr/aarch64-linux-gnu/lib/libc.so.6", "libc6-dev-arm64-cross"),
                    ("/usr/bin/qemu-aarch64-static", "qemu-user-static"),
                ])
            },
            run: aarch64,
        },
        Trial {
            name: "oneshot",
            what: "the tests over polling's oneshot epoll, what other systems use",
            on_demand: true,
            missing: || None,
            run: || over("oneshot", "--cfg arc_oneshot"),
        },
        Trial {
            name: "pipe",
            what: "the same, with the pipe that polling has where there is no eventfd",
            on_demand: true,
            missing: || None,
            run: || over("pipe", "--cfg arc_oneshot --cfg polling_test_epoll_pipe"),
        },
        Trial {
            name: "poll",
            what: "the tests over polling's poll(2)",
            on_demand: true,
            missing: || None,
            run: || over("portable", "--cfg arc_portable --cfg polling_test_poll_backend"),
        },
    ]
}

/// The runtime's tests.
pub const TESTS: &str = "test -p arc-runtime --lib --tests";

/// Runs the tests, all of them, and counts. What takes more time than elsewhere has it:
/// see `ARC_TEST_SLOWLY` in the tests.
pub fn run_tests(cargo: Tool, exceptions: &[Exception]) -> Result<Outcome, String> {
    let mut tool = cargo.arg("--no-fail-fast").arg("--");
    for (name, _) in exceptions {
        tool = tool.arg("--skip").arg(name);
    }
    let printed = tool.env("ARC_TEST_SLOWLY", "1").limit(Duration::from_secs(1500)).run()?;
    let mut tried = counted(&printed)?;
    for (name, why) in exceptions {
        tried += &format!("; not {name}: {why}");
    }
    Ok(Outcome { tried, found: String::new() })
}

/// As the tests with other flags. The step `portable` of CI has the same folder.
fn over(folder: &str, flags: &str) -> Result<Outcome, String> {
    let line = format!("cargo {TESTS} --target-dir target/{folder} --no-fail-fast");
    let tool = Tool::new(&line).env("RUSTFLAGS", flags).env("CARGO_INCREMENTAL", "0");
    let printed = tool.limit(Duration::from_secs(1500)).run()?;
    Ok(Outcome { tried: counted(&printed)?, found: String::new() })
}

/// How many tests passed. None at all: an emulator may succeed at doing nothing.
fn counted(printed: &str) -> Result<String, String> {
    match tool::passed(printed) {
        (0, _) => Err("no test has passed".to_owned()),
        (passed, programs) => Ok(format!("{passed} tests in {programs} programs")),
    }
}

/// What rustc makes the import libraries of the GNU platform with.
const DLLTOOL: &str = "/usr/bin/x86_64-w64-mingw32-dlltool";

fn clippy() -> Result<Outcome, String> {
    // What other platforms share with one of these has been compiled by another trial.
    let gnu = "x86_64-pc-windows-gnu";
    let targets: Vec<_> = debian::TARGETS.into_iter().chain([gnu]).collect();
    for target in &targets {
        let line = format!("clippy -Zbuild-std --target {target} --target-dir {FOLDER}");
        let libraries =
            "-p arc-runtime -p arc-macros -p arc-pool -p arc-tasks -p arc-util -p arc-compat";
        for what in [libraries, "-p arc-runtime -p arc-util --all-targets"] {
            // It does not know `const` thread-locals again where the system has no native ones.
            let lints = ["--", "-Dwarnings", "-Aclippy::missing_const_for_thread_local"];
            lints
                .into_iter()
                .fold(Tool::debian_cargo(&format!("{line} {what}")), Tool::arg)
                .run()?;
        }
    }
    Ok(Outcome { tried: format!("{} targets, with tests", targets.len()), found: String::new() })
}

const WINE: &str = "/usr/lib/wine/wine64";

/// wine lacks the library that std has its random numbers from; Windows has had this
/// function since Windows 10. It is made of the function that wine has.
const RANDOM: &str = "\
unsigned char __stdcall SystemFunction036(void *to, unsigned long length);
__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *to, unsigned long long length) {
    return SystemFunction036(to, (unsigned long)length);
}
";

fn windows() -> Result<Outcome, String> {
    let folder = workspace_root().join("target/trust/wine");
    let source = folder.join("random.c");
    fs::create_dir_all(folder.join("prefix")).map_err(|error| error.to_string())?;
    fs::write(&source, RANDOM).map_err(|error| error.to_string())?;
    let library = folder.join("bcryptprimitives.dll");
    let compiler = Tool::new("x86_64-w64-mingw32-gcc -shared -o").arg(library).arg(source);
    compiler.arg("-ladvapi32").run()?;
    let path = format!("Z:{}", folder.display()).replace('/', "\\");
    let within = |tool: Tool| {
        let tool = tool.env("WINEPREFIX", folder.join("prefix")).env("WINEDEBUG", "-all");
        tool.env("WINEPATH", &path)
    };
    // One server for all programs: a new one might meet the last one's end.
    within(Tool::new("/usr/lib/wine/wineserver64 --persistent")).run()?;
    let line = format!("{TESTS} -Zbuild-std --target x86_64-pc-windows-gnu");
    let cargo = Tool::debian_cargo(&line).arg("--target-dir").arg(FOLDER);
    let in_wine = |tool: Tool| within(tool.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", WINE));
    let ready = within(Tool::new(WINE).arg("wineboot").arg("--init")).run();
    let outcome = ready
        .and_then(|_| run_tests(in_wine(cargo), &NOT_UNDER_WINE))
        .and_then(|outcome| run_stages(in_wine(stages("x86_64-pc-windows-gnu")), outcome));
    // It would stay for a while, as a service.
    drop(within(Tool::new("/usr/lib/wine/wineserver64 --kill")).run());
    outcome
}

fn aarch64() -> Result<Outcome, String> {
    let line = format!("{TESTS} -Zbuild-std --target aarch64-unknown-linux-gnu");
    let runner = "qemu-aarch64-static -L /usr/aarch64-linux-gnu";
    let cargo = Tool::debian_cargo(&line).arg("--target-dir").arg(FOLDER);
    let in_qemu = |tool: Tool| {
        tool.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", runner)
            // For the processes that tests start.
            .env("ARC_TEST_RUNNER", runner)
    };
    let outcome = run_tests(in_qemu(cargo), &NOT_UNDER_QEMU)?;
    // A seed of a simulation means the same there.
    let seeds = "test -p arc-sim --test simulation -Zbuild-std --target aarch64-unknown-linux-gnu";
    let cargo = Tool::debian_cargo(seeds).arg("--target-dir").arg(FOLDER);
    let printed = in_qemu(cargo).arg("--").arg("seed_means_the_same");
    let seeds = counted(&printed.limit(Duration::from_secs(900)).run()?)?;
    let outcome = Outcome { tried: format!("{}; seeds: {seeds}", outcome.tried), ..outcome };
    run_stages(in_qemu(stages("aarch64-unknown-linux-gnu")), outcome)
}

/// What runs the programs of `inside/` on another platform.
fn stages(target: &str) -> Tool {
    let check = "run --quiet -p arc-inside --bin check --target-dir";
    Tool::debian_cargo(&format!("{check} {FOLDER} -- --target {target} -Zbuild-std"))
}

/// Runs them, and adds to what was tried what they say of themselves.
fn run_stages(tool: Tool, outcome: Outcome) -> Result<Outcome, String> {
    let printed = tool.limit(Duration::from_secs(900)).run()?;
    let said = |what| printed.lines().find_map(|line| str::strip_prefix(line, what));
    let (Some(programs), Some(gaps)) = (said("transcripts: "), said("gaps: ")) else {
        return Err("the stages of inside/ did not run".to_owned());
    };
    let tried = format!("{}; inside/: {programs}, gaps: {gaps}", outcome.tried);
    Ok(Outcome { tried, ..outcome })
}
