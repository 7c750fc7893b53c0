//! What `growth` of arc-benches measured, as plots in SVG: a row for each series,
//! with the cost of one operation, and the memory of one item where it was measured.
//! Both axes are logarithmic; a line for each runtime. The same figures give the same
//! bytes.

use serde::Deserialize;

use super::chart::{MARGIN, Svg, short};

/// The version of the format, which the doc comment of `benches/src/bin/growth.rs`
/// explains.
pub const FORMAT: u32 = 1;

const PANEL_WIDTH: f64 = 420.0;
const PANEL_HEIGHT: f64 = 290.0;
/// What is around the lines: the numbers on the left and below, the heading and the
/// legend above, room for half a number on the right.
const LEFT: f64 = 64.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 52.0;
const BOTTOM: f64 = 52.0;
/// For the title of the whole, and for what is below it.
const TITLE_HEIGHT: f64 = 40.0;
const FOOT_HEIGHT: f64 = 32.0;

/// More marks than this, and an axis has only the powers of ten.
const MARKS: usize = 6;

/// The runtimes that have a line of their own look; others share the last.
const LOOKS: [&str; 4] = ["arc", "tokio", "tokio-current-thread", "smol"];

/// Without a preference of the reader's, tones that are read on white as on black.
const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #768390 }
.title { font-size: 17px; font-weight: 600 }
.panel { font-size: 13px; font-weight: 600 }
.soft { font-size: 11px }
.grid { stroke: #8c959f; stroke-opacity: 0.35 }
.look0 { stroke: #2f81f7; fill: #2f81f7 }
.look1 { stroke: #d4772c; fill: #d4772c; stroke-dasharray: 7 3 }
.look2 { stroke: #8f7ae5; fill: #8f7ae5; stroke-dasharray: 2 3 }
.look3 { stroke: #3fa266; fill: #3fa266; stroke-dasharray: 9 3 2 3 }
.dot { stroke: none }
.line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: light) { text { fill: #24292f } }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }";

/// The figures of one run.
#[derive(Clone, Debug, Deserialize)]
pub struct Growth {
    pub growth: u32,
    cores: usize,
    workers: usize,
    rounds: usize,
    series: Vec<Series>,
}

#[derive(Clone, Debug, Deserialize)]
struct Series {
    name: String,
    item: String,
    operation: String,
    points: Vec<Point>,
}

#[derive(Clone, Debug, Deserialize)]
struct Point {
    size: f64,
    runtimes: Vec<Figures>,
}

#[derive(Clone, Debug, Deserialize)]
struct Figures {
    runtime: String,
    nanoseconds: f64,
    bytes: Option<f64>,
}

/// What one line shows: pairs of a size and a figure, both above zero.
struct Line<'growth> {
    runtime: &'growth str,
    points: Vec<(f64, f64)>,
}

/// A panel: its heading, and its lines.
struct Panel<'growth> {
    heading: String,
    /// What grows, below the horizontal axis.
    item: &'growth str,
    /// What the figures are in, beside the vertical one.
    unit: &'static str,
    lines: Vec<Line<'growth>>,
}

impl Growth {
    /// Whether there is any line.
    pub fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    fn rows(&self) -> Vec<Vec<Panel<'_>>> {
        let panels = self.series.iter().map(|series| {
            let cost = format!("{}: {}", series.name, series.operation);
            let memory = format!("{}: resident memory of each", series.name);
            let cost = series.panel(cost, "ns per operation", |it| Some(it.nanoseconds));
            let memory = series.panel(memory, "bytes per item", |it| it.bytes);
            cost.into_iter().chain(memory).collect()
        });
        panels.filter(|row: &Vec<_>| !row.is_empty()).collect()
    }
}

impl Series {
    /// None: there is nothing in it.
    fn panel(
        &self,
        heading: String,
        unit: &'static str,
        figure: fn(&Figures) -> Option<f64>,
    ) -> Option<Panel<'_>> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for point in &self.points {
            for figures in &point.runtimes {
                let value = figure(figures).filter(|value| *value > 0.0 && point.size > 0.0);
                let Some(value) = value else { continue };
                let runtime = figures.runtime.as_str();
                match lines.iter_mut().find(|line| line.runtime == runtime) {
                    Some(line) => line.points.push((point.size, value)),
                    None => lines.push(Line { runtime, points: vec![(point.size, value)] }),
                }
            }
        }
        let panel = Panel { heading, item: &self.item, unit, lines };
        (!panel.lines.is_empty()).then_some(panel)
    }
}

/// The plots, as the text of an SVG file.
pub fn draw(growth: &Growth) -> String {
    let rows = growth.rows();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(1);
    let width = 2.0 * MARGIN + columns as f64 * PANEL_WIDTH;
    let height = TITLE_HEIGHT + rows.len() as f64 * PANEL_HEIGHT + FOOT_HEIGHT;
    let mut svg = Svg::start(width, height, "The cost of one more", STYLE);
    svg.text("title", "start", MARGIN, 28.0, "The cost of one more");
    for (row, panels) in rows.iter().enumerate() {
        for (column, panel) in panels.iter().enumerate() {
            let left = MARGIN + column as f64 * PANEL_WIDTH;
            panel.draw(&mut svg, left, TITLE_HEIGHT + row as f64 * PANEL_HEIGHT);
        }
    }
    let foot = format!(
        "medians; rounds: {}, workers: {} (unless they are what grows), cores: {}",
        growth.rounds, growth.workers, growth.cores
    );
    svg.text("soft", "start", MARGIN, height - 14.0, &foot);
    svg.end()
}

impl Panel<'_> {
    fn draw(&self, svg: &mut Svg, left: f64, top: f64) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Axis::new(points().map(|point| point.0));
        let y = Axis::new(points().map(|point| point.1));
        let frame = Frame {
            left: left + LEFT,
            right: left + PANEL_WIDTH - RIGHT,
            top: top + TOP,
            bottom: top + PANEL_HEIGHT - BOTTOM,
        };
        svg.text("panel", "start", left, top + 16.0, &self.heading);
        self.legend(svg, left, top + 36.0);
        frame.grid(svg, &x, &y);
        let middle = f64::midpoint(frame.left, frame.right);
        svg.text("soft", "middle", middle, frame.bottom + 34.0, self.item);
        let (at, middle) = (left + 12.0, f64::midpoint(frame.top, frame.bottom));
        svg.turned_text("soft", at, middle, self.unit);
        for line in &self.lines {
            let places = line.points.iter();
            let places = places.map(|it| (frame.x(x.share(it.0)), frame.y(y.share(it.1))));
            line.draw(svg, &places.collect::<Vec<_>>());
        }
    }

    /// The lines' names, in one row.
    fn legend(&self, svg: &mut Svg, left: f64, y: f64) {
        let mut x = left;
        for line in &self.lines {
            let (look, middle) = (look(line.runtime), y - 4.0);
            svg.line(format_args!(
                "<line class=\"look{look}\" stroke-width=\"2\" x1=\"{x:.1}\" y1=\"{middle:.1}\" \
                 x2=\"{:.1}\" y2=\"{middle:.1}\"/>",
                x + 24.0
            ));
            svg.text("soft", "start", x + 30.0, y, line.runtime);
            x += 48.0 + 6.5 * line.runtime.len() as f64;
        }
    }
}

impl Line<'_> {
    fn draw(&self, svg: &mut Svg, places: &[(f64, f64)]) {
        let look = look(self.runtime);
        let pairs: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let pairs = pairs.join(" ");
        svg.line(format_args!("<polyline class=\"look{look} line\" points=\"{pairs}\"/>"));
        for (x, y) in places {
            svg.line(format_args!(
                "<circle class=\"look{look} dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
            ));
        }
    }
}

fn look(runtime: &str) -> usize {
    let found = LOOKS.iter().position(|name| *name == runtime);
    found.unwrap_or(LOOKS.len() - 1)
}

/// Where a panel's lines are.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    fn grid(&self, svg: &mut Svg, x: &Axis, y: &Axis) {
        for mark in &x.marks {
            let at = self.x(x.share(*mark));
            svg.grid_line((at, self.top), (at, self.bottom));
            svg.text("soft", "middle", at, self.bottom + 16.0, &short(*mark));
        }
        for mark in &y.marks {
            let at = self.y(y.share(*mark));
            svg.grid_line((self.left, at), (self.right, at));
            svg.text("soft", "end", self.left - 6.0, at + 4.0, &short(*mark));
        }
    }
}

/// A logarithmic axis, from its first mark to its last.
struct Axis {
    marks: Vec<f64>,
}

impl Axis {
    /// The values are above zero.
    fn new(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::MAX, f64::min);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        let fine = Self::by(&[1.0, 2.0, 5.0], least, most);
        if fine.marks.len() <= MARKS {
            return fine;
        }
        Self::by(&[1.0], least, most)
    }

    /// The marks at these factors of powers of ten, from the last that is not above
    /// the least value to the first that is not below the most.
    fn by(factors: &[f64], least: f64, most: f64) -> Self {
        let first = least.log10().floor() as i32;
        let last = most.log10().ceil() as i32 + 1;
        let powers = (first..=last).map(|power| 10f64.powi(power));
        let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * power));
        let all: Vec<f64> = all.collect();
        // A power of ten may come out a little off.
        let (least, most) = (least * (1.0 + 1e-9), most * (1.0 - 1e-9));
        let from = all.iter().rposition(|mark| *mark <= least).unwrap_or(0);
        let to = all.iter().position(|mark| *mark >= most);
        let to = to.unwrap_or(all.len() - 1).max(from + 1);
        Self { marks: all[from..=to].to_vec() }
    }

    /// How far along the axis a value is: from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (first, last) = (self.marks[0], self.marks[self.marks.len() - 1]);
        ((value / first).log10() / (last / first).log10()).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::tests::check_well_formed;
    use super::*;

    const TEXT: &str = r#"{"growth": 1, "cores": 2, "workers": 2, "rounds": 5, "series": [
        {"name": "tasks", "item": "tasks & <more>", "operation": "spawn", "points": [
            {"size": 100, "runtimes": [
                {"runtime": "arc", "nanoseconds": 250.0, "bytes": 300.5, "ratio": null},
                {"runtime": "tokio", "nanoseconds": 900.0, "bytes": -12.0, "ratio": 0.5}]},
            {"size": 9950, "runtimes": [
                {"runtime": "arc", "nanoseconds": 100000.0, "bytes": 1.0},
                {"runtime": "other", "nanoseconds": 3.3, "bytes": null}]},
            {"size": 100000, "runtimes": []}]},
        {"name": "workers", "item": "workers", "operation": "spawn and join", "points": [
            {"size": 1, "runtimes": [{"runtime": "arc", "nanoseconds": 1000, "bytes": null}]},
            {"size": 8, "runtimes": [{"runtime": "arc", "nanoseconds": 1000, "bytes": null}]}]},
        {"name": "timers", "item": "timers", "operation": "arm", "points": []}]}"#;

    fn growth() -> Growth {
        serde_json::from_str(TEXT).unwrap()
    }

    /// The values of all attributes of a name.
    fn attributes<'svg>(svg: &'svg str, name: &str) -> Vec<&'svg str> {
        let start = format!(" {name}=\"");
        let values = svg.split(start.as_str()).skip(1);
        values.map(|rest| rest.split('"').next().unwrap()).collect()
    }

    #[test]
    fn plots_are_well_formed_and_always_the_same() {
        let svg = draw(&growth());
        check_well_formed(&svg);
        assert_eq!(svg, draw(&growth()));
        assert!(svg.contains("tasks &amp; &lt;more&gt;"));
    }

    #[test]
    fn each_runtime_has_a_line_a_dot_per_size_and_a_name() {
        let svg = draw(&growth());
        // Three for the cost of tasks, one for their memory, one for workers.
        assert_eq!(svg.matches("<polyline").count(), 5);
        assert_eq!(svg.matches("<circle").count(), 2 + 1 + 1 + 2 + 2);
        assert_eq!(svg.matches(">arc</text>").count(), 3);
        assert_eq!(svg.matches(">tokio</text>").count(), 1);
        assert!(svg.contains(">ns per operation</text>"));
        assert!(svg.contains(">bytes per item</text>"));
    }

    #[test]
    fn everything_is_inside_the_view_box() {
        let svg = draw(&growth());
        let number = |text: &str| text.parse::<f64>().unwrap();
        let view: Vec<_> = attributes(&svg, "viewBox")[0].split(' ').map(number).collect();
        let is_inside = |values: &[&str], most: f64| {
            assert!(!values.is_empty());
            values.iter().all(|it| (0.0..=most).contains(&number(it)))
        };
        for name in ["x", "x1", "x2", "cx"] {
            assert!(is_inside(&attributes(&svg, name), view[2]), "{name}");
        }
        for name in ["y", "y1", "y2", "cy"] {
            assert!(is_inside(&attributes(&svg, name), view[3]), "{name}");
        }
        for pair in attributes(&svg, "points").iter().flat_map(|it| it.split(' ')) {
            let (x, y) = pair.split_once(',').unwrap();
            assert!(is_inside(&[x], view[2]) && is_inside(&[y], view[3]), "{pair}");
        }
    }

    #[test]
    fn axes_have_round_marks_around_all_values() {
        let marks = |values: &[f64]| Axis::new(values.iter().copied()).marks;
        assert_eq!(marks(&[250.0, 900.0]), [200.0, 500.0, 1000.0]);
        assert_eq!(marks(&[1.0, 8.0]), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(marks(&[100.0, 1e5]), [1e2, 1e3, 1e4, 1e5]);
        assert_eq!(marks(&[1000.0]), [1000.0, 2000.0]);
        assert_eq!(marks(&[0.3]), [0.2, 0.5]);
    }

    #[test]
    fn logarithms_are_even() {
        let axis = Axis::new([100.0, 1e6].into_iter());
        assert!((axis.share(1e4) - 0.5).abs() < 1e-9);
        assert_eq!([axis.share(100.0), axis.share(1e6)], [0.0, 1.0]);
    }

    #[test]
    fn without_figures_there_is_nothing_to_draw() {
        let mut growth = growth();
        assert!(!growth.is_empty());
        growth.series.drain(..2);
        assert!(growth.is_empty());
        check_well_formed(&draw(&growth));
    }
}
