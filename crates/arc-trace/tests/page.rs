//! The page in a browser: keys, the search, the colours, many events, the steps of a model.
//!
//! Each test adds a script to the page, behind the page's own, which does what a reader does, and
//! puts what it then sees into the page's `data-seen`.

use arc_trace::{
    Event, Format, Origin, Record, Recording, Resource, Thread, ThreadRecorder, Timeline, What,
    tell,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

const MS: u64 = 1_000_000;

/// One worker that polls these tasks one after the other, each for 1 ms.
fn polls(names: &[&str]) -> Recording {
    let mut records = Vec::new();
    for (index, task) in (0..names.len() as u64).zip(1..) {
        let begin = 2 * index * MS;
        let events = [
            (begin, Event::Spawned { task, runtime: 0 }),
            (begin + 1, Event::Step { task, number: 1 }),
            (begin + 2, Event::Step { task, number: 2 }),
            (begin + MS, Event::Polled { task, operations: 1 }),
        ];
        records.extend(events.map(|(at, event)| Record { at, event }));
    }
    let location = Location::caller();
    let origin = |name: &str| Origin {
        name: Some(name.into()),
        location,
        runtime: 0,
        is_job: false,
        ended: None,
    };
    let tasks: BTreeMap<u64, Origin> = (1..).zip(names.iter().map(|name| origin(name))).collect();
    recording(records, tasks)
}

fn recording(records: Vec<Record>, tasks: BTreeMap<u64, Origin>) -> Recording {
    let taken = records.last().map_or(0, |last| last.at);
    let name = "arc-worker-0".to_owned();
    let thread = Thread { name, worker: Some((0, 0)), main: None, records, left_out: 0 };
    Recording { threads: vec![thread], tasks, taken, ..Recording::default() }
}

/// What every script may use.
const TOOLS: &str = r#"
    const key = (name) => {
        dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true }));
    };
    const saw = (...what) => { document.body.dataset.seen = what.join("|"); };
    const find = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
"#;

/// Opens the page in a browser, runs the script there, and returns what it saw. None: there is no
/// browser.
fn seen(recording: &Recording, name: &str, script: &str) -> Option<Vec<String>> {
    seen_in("1200,700", recording, name, script)
}

/// The same, in a window of a size.
fn seen_in(size: &str, recording: &Recording, name: &str, script: &str) -> Option<Vec<String>> {
    let page = Format::Html.render(&Timeline::new(recording));
    // What is painted is counted from the beginning.
    let count = "<script>let painted = 0; { const paints = CanvasRenderingContext2D.prototype; \
                 const rect = paints.fillRect; paints.fillRect = function (...args) { painted++; \
                 rect.apply(this, args); }; }</script>";
    let page = page.replacen("<script>", &format!("{count}<script>"), 1);
    let page = page.replace("</html>", &format!("<script>{TOOLS}{script}</script></html>"));

    let path = env::temp_dir().join(format!("arc-trace-{}-{name}.html", std::process::id()));
    fs::write(&path, page).unwrap();
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu"]);
    command.arg(format!("--window-size={size}"));
    command.arg("--dump-dom").arg(format!("file://{}", path.display()));
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    fs::remove_file(path).unwrap();
    let Ok(output) = output else {
        eprintln!("SKIPPED: chromium is not installed");
        return None;
    };
    let page = String::from_utf8(output.stdout).unwrap();
    let seen = page.split("data-seen=\"").nth(1).expect("the script has run to its end");
    let seen = seen.split('"').next().unwrap().replace("&quot;", "\"");
    Some(seen.split('|').map(str::to_owned).collect())
}

fn numbers(seen: &[String]) -> Vec<f64> {
    seen.iter().map(|text| text.parse().unwrap()).collect()
}

#[track_caller]
fn is_about(number: f64, expected: f64) {
    assert!((number - expected).abs() < 10.0, "{number} instead of {expected}");
}

#[test]
fn keys_zoom_and_move() {
    let script = r#"
        const views = [];
        for (const name of ["+", "ArrowRight", "ArrowLeft", "-", "+", "w", "d", "a", "s", "0"]) {
            key(name);
            views.push(view.from, view.to);
        }
        saw(DATA.span, ...views);
    "#;
    let Some(seen) = seen(&polls(&["one", "two", "three"]), "keys", script) else { return };
    let seen = numbers(&seen);
    let span = seen[0];
    let views: Vec<(f64, f64)> = seen[1..].chunks(2).map(|view| (view[0], view[1])).collect();

    // `+` shows 70 % of what was seen before, around the same middle.
    let (from, to) = views[0];
    is_about(to - from, 0.7 * span);
    is_about((from + to) / 2.0, span / 2.0);
    // The arrows move by a fifth of what is seen, but not beyond the ends.
    is_about(views[1].0, (from + 0.2 * (to - from)).min(span - (to - from)));
    is_about(views[1].1 - views[1].0, to - from);
    assert!(views[1].0 > from + 0.1 * span);
    assert!(views[2].0 < views[1].0);
    is_about(views[3].1 - views[3].0, span);
    // The letters do the same.
    is_about(views[5].1 - views[5].0, 0.49 * span);
    assert!(views[6].0 > views[5].0);
    is_about(views[7].0, views[5].0);
    is_about(views[8].1 - views[8].0, 0.7 * span);
    // And `0` shows all of it.
    assert_eq!(views[9], (0.0, span));
}

#[test]
fn search_finds_a_task_by_name_line_and_number() {
    let script = r#"
        const found = () => [...matching].map((task) => DATA.tasks[task][1]).join(",");
        const all = [];
        for (const text of ["NEEDLE", "page.rs:", "task 3", "nobody"]) {
            find(text);
            all.push(found(), panel.querySelector("h2").textContent);
        }
        find("needle");
        panel.querySelector("button").click();
        all.push(panel.textContent.includes("Why did it run then?"));
        all.push(picked.map((task) => DATA.tasks[task][1]));
        key("Escape");
        all.push(matching === null && search.value === "");
        key("/");
        all.push(document.activeElement === search);
        saw(...all);
    "#;
    let names = ["hay", "a needle", "straw"];
    let Some(seen) = seen(&polls(&names), "search", script) else { return };
    assert_eq!(seen[..2], ["a needle", "1 tasks match"]);
    assert_eq!(seen[2..4], ["hay,a needle,straw", "3 tasks match"]);
    assert_eq!(seen[4..6], ["straw", "1 tasks match"]);
    assert_eq!(seen[6..8], ["", "0 tasks match"]);
    assert_eq!(seen[8..], ["true", "a needle", "true", "true"]);
}

#[test]
fn page_is_light_or_dark() {
    let script = r#"
        const corner = () => {
            drawNow();
            return [...paint.getImageData(1, canvas.height - 2, 1, 1).data].join(",");
        };
        const theme = () => document.documentElement.dataset.theme;
        const light = [theme(), corner()];
        $("theme").click();
        const dark = [theme(), corner()];
        $("theme").click();
        saw(...light, ...dark, theme(), corner());
    "#;
    let Some(seen) = seen(&polls(&["one"]), "theme", script) else { return };
    let (light, dark) = ("251,251,250,255", "23,25,29,255");
    assert_eq!(seen, ["light", light, "dark", dark, "light", light]);
}

/// More workers than a window has room for, each of which polls a task for a while.
fn many_workers() -> Recording {
    let mut threads = Vec::new();
    for worker in 0..60 {
        let task = u64::from(worker) + 1;
        let events = [
            (0, Event::Spawned { task, runtime: 0 }),
            (1, Event::Step { task, number: 1 }),
            (2, Event::Step { task, number: 2 }),
            (MS, Event::Polled { task, operations: 1 }),
        ];
        let records = events.map(|(at, event)| Record { at, event }).into();
        let name = format!("arc-worker-{worker}");
        threads.push(Thread { name, worker: Some((0, worker)), main: None, records, left_out: 0 });
    }
    Recording { threads, tasks: BTreeMap::new(), taken: MS, ..Recording::default() }
}

#[test]
fn rows_below_the_window_are_reached() {
    let script = r#"
        const box = canvas.getBoundingClientRect(), down = $("rows");
        const mouse = (kind, x, y, to = canvas) => to.dispatchEvent(new MouseEvent(kind,
            { clientX: box.left + x, clientY: box.top + y, bubbles: true }));
        const wheel = (x) => !canvas.dispatchEvent(new WheelEvent("wheel",
            { clientX: box.left + x, clientY: box.top + 99, deltaY: -100, cancelable: true }));
        // The task whose poll is seen at a height, if there is one.
        const at = (y) => {
            mouse("mousedown", 600, y);
            mouse("mouseup", 600, y);
            return chosen < 0 ? "nothing" : DATA.tasks[DATA.task[chosen]][0];
        };
        // The first bar, and the last one when all is scrolled. Two rows are below that.
        const first = AXIS + GAP + 5, last = canvas.clientHeight - GAP - 2.5 * ROW;
        const all = [at(first), at(first - AXIS - GAP)];
        down.scrollTop = 1e6;
        all.push(at(last), canvas.getBoundingClientRect().top === box.top);
        all.push(canvas.clientHeight === down.clientHeight, down.scrollWidth === down.clientWidth);

        // The keys, and dragging.
        key("Escape");
        down.scrollTop = 0;
        for (const name of ["ArrowDown", "ArrowDown", "ArrowUp"]) key(name);
        all.push(down.scrollTop / ROW, at(first));
        mouse("mousedown", 600, 300);
        mouse("mousemove", 600, 300 - 3 * ROW);
        mouse("mouseup", 600, 300 - 3 * ROW, document.body);
        all.push(down.scrollTop / ROW);

        // The wheel zooms over the bars only.
        const whole = view.to - view.from;
        all.push(wheel(20), view.to - view.from === whole, wheel(600), view.to - view.from < whole);

        // What is chosen is brought to where it is seen.
        choose(ofLane[59][0]);
        all.push(yOfRow(59) > AXIS && yOfRow(59) + ROW <= canvas.clientHeight);
        choose(ofLane[0][0]);
        all.push(down.scrollTop);
        saw(...all);
    "#;
    let Some(seen) = seen(&many_workers(), "rows", script) else { return };
    assert_eq!(seen[..6], ["1", "nothing", "60", "true", "true", "true"]);
    assert_eq!(seen[6..9], ["2", "3", "5"]);
    assert_eq!(seen[9..], ["false", "true", "true", "true", "true", "0"]);
}

#[test]
fn fingers_move_zoom_and_choose() {
    let script = r#"
        const box = canvas.getBoundingClientRect();
        const touch = (kind, ...places) => {
            const finger = ([x, y], identifier) => new Touch({
                identifier, target: canvas, clientX: box.left + x, clientY: box.top + y,
            });
            const fingers = places.map(finger), ended = kind === "touchend";
            canvas.dispatchEvent(new TouchEvent(kind, { cancelable: true, bubbles: true,
                touches: ended ? [] : fingers, changedTouches: fingers }));
        };
        // A tap chooses the poll under it.
        const first = AXIS + GAP + 5;
        touch("touchstart", [600, first]);
        touch("touchend", [600, first]);
        const all = [chosen < 0 ? "nothing" : DATA.tasks[DATA.task[chosen]][0]];

        // Two fingers that part show half of what was seen, around the same place.
        const place = timeAt(600, box.width);
        touch("touchstart", [550, 99], [650, 99]);
        touch("touchmove", [500, 99], [700, 99]);
        touch("touchend", [500, 99]);
        const width = view.to - view.from;
        all.push(Math.abs(width / DATA.span - 0.5) < 0.01);
        all.push(Math.abs(timeAt(600, box.width) - place) < DATA.span / 100);

        // One finger moves what is seen, and the rows.
        const from = view.from;
        touch("touchstart", [600, 300]);
        touch("touchmove", [550, 300 - 2 * ROW]);
        touch("touchend", [550, 300 - 2 * ROW]);
        all.push(view.from > from, $("rows").scrollTop / ROW);
        all.push(DATA.tasks[DATA.task[chosen]][0]);
        saw(...all);
    "#;
    let Some(seen) = seen(&many_workers(), "fingers", script) else { return };
    assert_eq!(seen, ["1", "true", "true", "true", "2", "1"]);
}

/// A name has as many of its letters as there is room for, and none is squeezed.
#[test]
fn names_are_cut_and_not_squeezed() {
    let script = r#"
        const name = "a name that is far too long for the place that it has";
        const width = paint.measureText(name).width;
        const cut = fit(name, width / 2);
        saw(fit(name, width), cut.endsWith("…") && name.startsWith(cut.slice(0, -1)),
            paint.measureText(cut).width <= width / 2, cut.length > name.length / 3, fit(name, 2));
    "#;
    let Some(seen) = seen(&polls(&["one"]), "names", script) else { return };
    let name = "a name that is far too long for the place that it has";
    assert_eq!(seen, [name, "true", "true", "true", ""]);
}

/// What is painted depends on the pixels, and not on the events.
#[test]
fn hundred_thousand_events_are_painted_as_fast_as_there_are_pixels() {
    let names = vec!["busy"; 25_000];
    let script = "saw(DATA.events, painted, document.body.dataset.opened);";
    let Some(seen) = seen(&polls(&names), "many", script) else { return };
    let seen = numbers(&seen);
    assert_eq!(seen[0], 100_000.0);
    // A few rows of 1,200 pixels, each painted in a few colours.
    assert!(seen[1] < 10_000.0, "{} rectangles", seen[1]);
    println!("{} events opened in {} ms, with {} rectangles", seen[0], seen[2], seen[1]);
}

thread_local! {
    /// The time of [`waits`], in milliseconds.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// The task "holder" has a lock while it sleeps. "waiter" waits for that, and "both" for the lock
/// or for the end of "waiter". "never" waits for nothing that is known.
fn waits() -> Recording {
    let recorder = ThreadRecorder::begin(|| NOW.get() * MS);
    let line = Some(Location::caller());
    let lock = Resource::new(What::Mutex, Location::caller());
    let spawn = |task, name: &str| {
        tell::spawned(task, 0, &Some(name.into()), Location::caller(), 0);
        tell::step(task, 1);
    };
    let poll = |task, number: u64, at, act: &dyn Fn()| {
        // The time passes while the thread sleeps.
        tell::sleeps();
        NOW.set(at);
        tell::awake();
        tell::step(task, 2 * number);
        act();
        tell::polled(task);
    };
    for (task, name) in (1..).zip(["holder", "waiter", "both", "never"]) {
        spawn(task, name);
    }
    poll(1, 1, 1, &|| {
        tell::holds(&lock, line, false);
        tell::waits_for_time(0, Duration::from_millis(50));
    });
    poll(2, 1, 2, &|| tell::waits_for(&lock, line, 1, 0));
    poll(3, 1, 3, &|| {
        tell::waits_for(&lock, line, 1, 0);
        tell::waits_for_task(2);
    });
    poll(4, 1, 4, &|| {});
    poll(1, 2, 60, &|| {
        tell::releases(&lock, 1);
        tell::step(2, 3);
        tell::ended(1);
    });
    tell::sleeps();
    NOW.set(61);
    tell::awake();
    tell::step(2, 4);
    tell::ended(2);
    NOW.set(100);
    recorder.recording()
}

/// Each kind of wait has lines of its own, so that nobody need tell colours apart.
#[test]
fn row_of_a_task_has_its_waits_in_their_kinds() {
    let script = r#"
        picked = [0, 1, 2, 3];
        drawNow();
        const names = (wait) => kindsOf(wait).map((kind) => WAITS[kind][0]);
        const kinds = picked.map((task) => waitsOf(task).map(names));
        // The colours in the middle of the wait.
        const hatched = picked.map((task) => {
            const index = rows().findIndex((row) => row.task === task), wait = waitsOf(task)[0];
            const left = x(wait.from + wait.time / 2, canvas.clientWidth), seen = new Set();
            const pixels = paint.getImageData(left, yOfRow(index) + 2, 8, ROW - 14).data;
            for (let i = 0; i < pixels.length; i += 4) seen.add(pixels.slice(i, i + 3).join());
            return seen.size > 1 ? "hatched" : "plain";
        });
        const legend = WAITS.every(([, , text]) => panel.textContent.includes(text));
        saw(JSON.stringify(kinds), hatched, legend);
    "#;
    let Some(seen) = seen(&waits(), "kinds", script) else { return };
    let kinds = r#"[[["timer"]],[["lock"]],[["lock","join"]],[["unknown"]]]"#;
    assert_eq!(seen, [kinds, "hatched,hatched,hatched,plain", "true"]);
}

#[test]
fn wait_shows_what_it_is_for_and_who_has_that() {
    let script = r#"
        const box = canvas.getBoundingClientRect();
        const place = (task) => {
            const index = rows().findIndex((row) => row.task === task), wait = waitsOf(task)[0];
            return [x(wait.from + wait.time / 2, box.width), yOfRow(index) + 6];
        };
        const click = (task) => {
            const [left, y] = place(task);
            for (const kind of ["mousedown", "mouseup"]) canvas.dispatchEvent(new MouseEvent(kind,
                { clientX: box.left + left, clientY: box.top + y, bubbles: true }));
        };
        const tap = (task) => {
            const [left, y] = place(task);
            const at = { clientX: box.left + left, clientY: box.top + y };
            const finger = new Touch({ identifier: 0, target: canvas, ...at });
            for (const [kind, touches] of [["touchstart", [finger]], ["touchend", []]]) {
                canvas.dispatchEvent(new TouchEvent(kind,
                    { cancelable: true, touches, changedTouches: [finger] }));
            }
        };
        picked = [1, 2];
        click(1);
        const all = [panel.textContent];
        // Who has it is a button, which gives that task a row and goes to the poll that got it.
        const buttons = [...panel.querySelectorAll("button")];
        buttons.find((it) => it.textContent.includes("since")).click();
        all.push(picked.includes(0), DATA.tasks[DATA.task[chosen]][1]);
        choose(-1);
        tap(2);
        all.push(panel.textContent);
        // By keys: from a poll to the wait behind it, to the poll behind that, and back.
        choose(ofTask[1][0]);
        for (const name of ["N", "n", "P", "p"]) {
            key(name);
            all.push(chosenWait ? "wait" : `poll ${ofTask[1].indexOf(chosen)}`);
        }
        // A task that has no row gets one.
        choose(ofTask[3][0]);
        key("N");
        all.push(picked.includes(3), panel.textContent);
        // A finding about a wait leads to that.
        choose(-1);
        const findings = [...panel.querySelectorAll("button")];
        findings.find((it) => it.textContent.includes("lock: ")).click();
        all.push(chosenWait && DATA.tasks[chosenWait.task][1]);
        saw(...all);
    "#;
    let Some(seen) = seen(&waits(), "wait", script) else { return };
    let has = |text: &str, parts: &[&str]| {
        parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in {text:?}"));
    };
    let made = format!("for the Mutex made at {}:", file!());
    let holder = r#"task 1 "holder""#;
    has(
        &seen[0],
        &[r#""waiter""#, "It waited 58.0 ms", &made, holder, "had it for 59.0 ms, since"],
    );
    has(&seen[0], &["woke it", "the poll after it"]);
    assert_eq!(seen[1..3], ["true", "holder"]);
    has(&seen[3], &["for whatever comes first", &made, r#"for task 2 "waiter""#, "to end", holder]);
    assert_eq!(seen[4..8], ["wait", "poll 1", "wait", "poll 0"]);
    assert_eq!(seen[8], "true");
    has(&seen[9], &[r#""never""#, "for nothing that arc knows of", "Nobody has woken it."]);
    assert_eq!(seen[10], "both");
}

/// Two threads of a model take turns; the second one polls a task.
fn model() -> Recording {
    let turn = |thread| Event::Scheduled { thread };
    let events = [
        (1_000, turn(0)),
        (1_000, Event::Spawned { task: 7, runtime: 0 }),
        (2_000, turn(1)),
        (2_000, Event::RunsWorker { runtime: 0, worker: 0 }),
        (3_000, turn(0)),
        (3_000, Event::Step { task: 7, number: 1 }),
        (4_000, turn(1)),
        (4_000, Event::Step { task: 7, number: 2 }),
        (5_000, turn(1)),
        (6_000, turn(1)),
        (6_000, Event::Polled { task: 7, operations: 0 }),
        (6_000, Event::Sleeps),
    ];
    let records = events.into_iter().map(|(at, event)| Record { at, event }).collect();
    recording(records, BTreeMap::new()).by_schedule()
}

#[test]
fn threads_of_a_model_have_lanes_of_their_own() {
    let timeline = Timeline::new(&model());
    let lanes: Vec<String> =
        (0..timeline.lanes.len()).map(|lane| timeline.lane_label(lane)).collect();
    assert_eq!(lanes, ["thread 0", "worker 0 (thread 1)"]);
    assert_eq!(
        (timeline.polls[0].lane, timeline.polls[0].begin, timeline.polls[0].end),
        (1, 4_000, Some(6_000))
    );
    let turns: Vec<usize> = timeline.schedule.iter().map(|step| step.lane).collect();
    assert_eq!(turns, [0, 1, 0, 1, 1, 1]);

    let text = Format::Text.render(&timeline);
    assert!(text.contains("The last of 6 steps of the schedule"), "{text}");
    assert!(text.contains("  3: thread 0 queues task 7\n"), "{text}");
    assert!(text.contains("  6: worker 0 (thread 1) has polled task 7; falls asleep\n"), "{text}");
}

#[test]
fn keys_step_through_a_model() {
    let script = r#"
        const shown = () => document.getElementById("shown-step").textContent;
        const all = [];
        for (const name of [",", ",", ".", "."]) { key(name); all.push(shown()); }
        for (let i = 0; i < 9; i++) key(",");
        all.push(shown());
        key(".");
        all.push(shown());
        key("Escape");
        all.push(panel.textContent.includes("What stands out"));
        saw(...all);
    "#;
    let Some(seen) = seen(&model(), "model", script) else { return };
    let last = "6  worker 0 (thread 1) has polled task 7; falls asleep";
    assert_eq!(seen[0], last);
    assert_eq!(seen[1], "5  worker 0 (thread 1) ");
    assert_eq!(seen[2..4], [last, last]);
    assert_eq!(seen[4], "1  thread 0 spawns task 7");
    assert_eq!(seen[5], "2  worker 0 (thread 1) runs worker 0");
    assert_eq!(seen[6], "true");
}

/// A worker with polls and sleeps of many lengths, and tasks that wait in its queue: by a generator
/// of numbers, so that each run has the same.
fn busy() -> Recording {
    let mut state = 7_u64;
    let mut number = |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let (mut records, mut at, mut task) = (Vec::new(), 0, 0);
    for _ in 0..120 {
        let batch = 1 + number(4);
        for queued in task + 1..=task + batch {
            records.push(Record { at, event: Event::Spawned { task: queued, runtime: 0 } });
            records.push(Record { at, event: Event::Step { task: queued, number: 1 } });
            at += number(MS / 20);
        }
        for polled in task + 1..=task + batch {
            records.push(Record { at, event: Event::Step { task: polled, number: 2 } });
            at += if number(10) == 0 { number(12 * MS) } else { number(MS / 2) };
            records.push(Record { at, event: Event::Polled { task: polled, operations: 1 } });
            at += number(MS / 10);
        }
        task += batch;
        records.push(Record { at, event: Event::Sleeps });
        at += number(8 * MS);
        records.push(Record { at, event: Event::Awake });
    }
    recording(records, BTreeMap::new())
}

/// What the script below saw of the page at one zoom: what each column of pixels shows.
struct Columns<'a> {
    from: f64,
    to: f64,
    /// For each column whether the row of the worker shows a poll (p), nothing (.) or a part (-).
    polls: Vec<u8>,
    /// The same of sleeps (s), where there is no poll.
    sleeps: Vec<u8>,
    /// How high the row of the queues is painted, in hundredths of a pixel: faint, and solid.
    queue: Vec<[f64; 2]>,
    /// What is below that row: nothing (.), or a line of the axis, which shines through.
    between: Vec<u8>,
    timeline: &'a Timeline,
}

const COLUMNS: &str = r#"{
    const rgb = (color) => {
        const probe = document.createElement("canvas").getContext("2d");
        probe.fillStyle = color;
        probe.fillRect(0, 0, 1, 1);
        return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const is = (pixels, i, color) => color.every((part, k) => pixels[4 * i + k] === part);
    const back = rgb(colors.back), queue = rgb(colors.queue);
    const polls = [colors.poll, colors.long].map(rgb), slept = [colors.sleep].map(rgb);
    const all = [];
    for (const [from, to] of [[0, DATA.span], [DATA.span * 0.3, DATA.span * 0.34]]) {
        zoomTo(from, to);
        drawNow();
        const width = canvas.width, y = yOfRow(0), wide = width - LABELS;
        const line = (at) => paint.getImageData(LABELS, at, wide, 1).data;
        const codes = (pixels, wanted, code) => Array.from({ length: wide }, (_, i) =>
            wanted.some((color) => is(pixels, i, color)) ? code
                : is(pixels, i, back) ? "." : "-").join("");
        const at = yOfRow(rows().findIndex((row) => row.kind === "queue"));
        const pixels = paint.getImageData(LABELS, at, wide, ROW - 6).data;
        const heights = Array.from({ length: wide }, (_, column) => {
            // How much of each pixel is painted: the faint colour is 0.3 of the way to the
            // solid one.
            let faint = 0, solid = 0;
            for (let line = 0; line < ROW - 6; line++) {
                const blue = pixels[4 * (line * wide + column) + 2];
                const share = (blue - back[2]) / (queue[2] - back[2]);
                faint += Math.min(1, share / 0.3);
                solid += Math.max(0, (share - 0.3) / 0.7);
            }
            return `${Math.round(100 * faint)} ${Math.round(100 * solid)}`;
        });
        all.push(view.from, view.to, codes(line(y + 1), polls, "p"), codes(line(y + 6), slept, "s"),
            heights.join(","), longestQueue, codes(line(at + ROW - 3), [], ""));
    }
    saw(...all);
}"#;

impl Columns<'_> {
    /// The times of a column.
    fn times(&self, column: usize) -> [f64; 2] {
        let each = (self.to - self.from) / self.polls.len() as f64;
        [self.from + column as f64 * each, self.from + (column + 1) as f64 * each]
    }

    /// Each column shows the polls and the sleeps of its time. Where one begins or ends, a part.
    fn check_bars(&self) {
        let timeline = self.timeline;
        let begin = timeline.begin as f64;
        let span = |from: u64, to: Option<u64>| {
            [from as f64 - begin, to.unwrap_or(timeline.end) as f64 - begin]
        };
        let polls: Vec<_> = timeline.polls.iter().map(|poll| span(poll.begin, poll.end)).collect();
        let sleeps: Vec<_> =
            timeline.sleeps.iter().map(|sleep| span(sleep.begin, sleep.end)).collect();
        self.check("polls", &self.polls, b'p', &polls);
        // A narrow poll is painted over a sleep.
        let bare = |(sleep, poll): (&u8, &u8)| if *poll == b'.' { *sleep } else { b'-' };
        let bare: Vec<u8> = self.sleeps.iter().zip(&self.polls).map(bare).collect();
        self.check("sleeps", &bare, b's', &sleeps);
    }

    fn check(&self, what: &str, shown: &[u8], code: u8, spans: &[[f64; 2]]) {
        for (column, &shown) in shown.iter().enumerate() {
            let [from, to] = self.times(column);
            let each = to - from;
            let is_full = spans.iter().any(|span| span[0] <= from && span[1] >= to);
            // What is narrower than a pixel is painted as wide as one, from where it begins.
            let is_near = spans
                .iter()
                .any(|span| span[0] < to + each && span[1].max(span[0] + each) > from - each);
            let expected = if is_full { code } else { b'.' };
            if (is_full || !is_near) && shown != b'-' {
                assert_eq!(shown as char, expected as char, "{what} in column {column}");
            }
            let is_hidden = is_full && shown == b'.';
            assert!(!is_hidden, "{what} in column {column} are not shown");
        }
        let count = shown.iter().filter(|shown| **shown == code).count();
        assert!(count > 10, "there are {count} columns with {what}");
    }

    /// The row of the queues is as high as tasks were in queues at the time of each column: the
    /// most, and on average.
    fn check_queue(&self, longest: f64) {
        let begin = self.timeline.begin as f64;
        let mut changes = Vec::new();
        for poll in &self.timeline.polls {
            let queued = poll.queued.expect("it was queued");
            changes.push((queued.at as f64 - begin, 1.0));
            changes.push((poll.begin as f64 - begin, -1.0));
        }
        changes.sort_by(|(at, _), (other, _)| at.total_cmp(other));
        let high = |tasks: f64| 20.0 * tasks / longest;
        for (column, [faint, solid]) in self.queue.iter().enumerate() {
            if self.between[column] != b'.' {
                continue;
            }
            let [from, to] = self.times(column);
            let (mut area, mut most, mut near, mut length) = (0.0, 0.0_f64, 0.0_f64, 0.0);
            for (index, (at, change)) in changes.iter().enumerate() {
                length += change;
                let end = changes.get(index + 1).map_or(*at, |(end, _)| *end);
                let inside = end.min(to) - at.max(from);
                if inside > 0.0 {
                    area += length * inside;
                    most = most.max(length);
                }
                // What happens at the edge of a column may be counted for its neighbour.
                let slack = (to - from) * 1e-3;
                if end > from - slack && *at < to + slack {
                    near = near.max(length);
                }
            }
            let (faint, solid) = (faint / 100.0, solid / 100.0);
            let mean = high(area / (to - from));
            assert!((solid - mean).abs() < 0.6, "column {column}: {solid} and not {mean}");
            let least = high(most).min(high(near)) - 0.6;
            let fits = (least..high(near) + 0.6).contains(&faint);
            assert!(fits, "column {column}: {faint} and not {}", high(most));
        }
    }
}

/// At two zooms and in two widths, each column of pixels shows what was measured in its time.
#[test]
fn page_shows_what_was_measured() {
    let recording = busy();
    let timeline = Timeline::new(&recording);
    for size in ["1500,700", "900,700"] {
        let Some(seen) = seen_in(size, &recording, "measured", COLUMNS) else { return };
        let number = |text: &str| text.parse::<f64>().unwrap();
        for seen in seen.chunks(7) {
            let queue = seen[4].split(',').map(|pair| {
                let (faint, solid) = pair.split_once(' ').unwrap();
                [number(faint), number(solid)]
            });
            let columns = Columns {
                from: number(&seen[0]),
                to: number(&seen[1]),
                polls: seen[2].clone().into_bytes(),
                sleeps: seen[3].clone().into_bytes(),
                queue: queue.collect(),
                between: seen[6].clone().into_bytes(),
                timeline: &timeline,
            };
            columns.check_bars();
            columns.check_queue(number(&seen[5]));
        }
    }
}
