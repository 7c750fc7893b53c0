//! Random inputs against references: more of them than in the tests of every day.

use std::time::Duration;

use crate::tool::{self, Tool};
use crate::{Outcome, Trial};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial {
            name: "properties",
            what: "queues, wheel, timers, `Sleep::reset` and macros do what a reference does",
            on_demand: false,
            missing: || None,
            run: properties,
        },
        Trial {
            name: "input",
            what: "every constructor and option with values that make no sense",
            on_demand: false,
            missing: || None,
            run: input,
        },
    ]
}

/// Where the properties are, and how many cases of each are tried.
const PROPERTIES: [(&str, &[&str], usize); 3] = [
    (
        "-p arc-runtime --lib",
        &[
            "wheel_does_what_a_sorted_map_does",
            "queues_do_what_their_model_does",
            "sleepers_are_what_two_sets_say",
            "word_is_what_its_parts_are",
            "timers_do_what_their_model_does",
        ],
        2_000,
    ),
    ("-p arc-runtime --test scenarios", &["timers_that_are_reset_do_what_an_instant_does"], 10_000),
    (
        "-p arc-macros --test tokens",
        &[
            "macros_do_what_they_should_with_any_tokens",
            "macros_do_what_they_should_with_any_options",
        ],
        20_000,
    ),
];

fn properties() -> Result<Outcome, String> {
    let mut cases_in_all = 0;
    let mut properties = 0;
    for (place, names, cases) in PROPERTIES {
        let tool = Tool::new(&format!("cargo test {place} --")).limit(Duration::from_secs(900));
        let tool = names.iter().fold(tool, |tool, name| tool.arg(name));
        let printed = tool.env("PROPTEST_CASES", cases.to_string()).run()?;
        let (passed, _) = tool::passed(&printed);
        if passed != names.len() {
            return Err(format!("{passed} properties in {place}, not {}", names.len()));
        }
        properties += passed;
        cases_in_all += passed * cases;
    }
    let tried = format!("{properties} properties, {cases_in_all} cases");
    Ok(Outcome { tried, found: String::new() })
}

fn input() -> Result<Outcome, String> {
    let (mut tests, mut inputs) = (0, 0);
    let programs =
        ["arc-runtime --test scenarios", "arc-util --test util", "arc-compat --test adapters"];
    for program in programs {
        let line = format!("cargo test -p {program} bad_input:: -- --nocapture");
        let printed = Tool::new(&line).run()?;
        tests += tool::passed(&printed).0;
        // Each input has a line of its own, which the harness may have begun.
        inputs += printed.lines().filter(|line| line.contains("bad input | ")).count();
    }
    let printed = Tool::new("cargo test -p arc-macros --test compile_fail -- --nocapture").run()?;
    let messages = printed.lines().filter(|line| line.contains("tests/compile_fail/")).count();
    if tests == 0 || inputs < tests || messages == 0 {
        return Err(format!("{inputs} inputs in {tests} tests, {messages} messages: not all ran"));
    }
    Ok(Outcome {
        tried: format!("{inputs} inputs in {tests} tests, {messages} wrong uses of the macros"),
        found: String::new(),
    })
}
