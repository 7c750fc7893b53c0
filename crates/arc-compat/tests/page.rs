//! Numbers of docs/TOKIO.md, beside what is so.

use arc::runtime::Builder;
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/TOKIO.md");

/// Set in the processes that are started here: whether tokio's context is put on all threads.
const CHILD: &str = "ARC_COMPAT_TEST_EVERYWHERE";

/// How many threads and descriptors this process has.
fn held() -> [usize; 2] {
    ["/proc/self/task", "/proc/self/fd"]
        .map(|folder| std::fs::read_dir(folder).expect("Linux has it").count())
}

/// The test's own threads and descriptors are there with and without tokio's.
#[test]
fn everywhere_costs_as_many_threads_and_descriptors_as_the_page_says() {
    if let Some(with) = std::env::var_os(CHILD) {
        let mut builder = Builder::new_multi_thread();
        builder.workers(2);
        let _tokio = (with == "with").then(|| arc_compat::tokio::everywhere(&mut builder));
        let runtime = builder.build().expect("a runtime");
        // The context alone starts tokio's thread. So does what has run in it.
        runtime.block_on(runtime.spawn(async {})).expect("it runs");
        let [threads, descriptors] = held();
        println!("held: {threads} {descriptors}");
        return;
    }

    let [without, with] = ["without", "with"].map(|with| {
        let mut child = Command::new(std::env::current_exe().expect("the test's own path"));
        let name = "page::everywhere_costs_as_many_threads_and_descriptors_as_the_page_says";
        child.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, with);
        let output = String::from_utf8(child.output().expect("it starts").stdout).expect("text");
        let line = output.lines().find_map(|line| line.split_once("held: ")).expect("it says so").1;
        let numbers: Vec<usize> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        [numbers[0], numbers[1]]
    });
    assert_eq!(with[0] - without[0], 3, "the page says: three threads");
    let words: Vec<_> = PAGE.split_whitespace().collect();
    let said = format!("address space and {} descriptors", with[1] - without[1]);
    assert!(words.join(" ").contains(&said), "the page does not say {said:?}");
}
