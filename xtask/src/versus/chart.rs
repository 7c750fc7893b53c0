//! `cargo xtask chart`: a record as a chart in SVG. The same record gives the same
//! bytes, so that a chart can be committed. What `growth` measured is for `plot.rs`.
//!
//! A row of panels for each workload, a panel for each figure that the workload is
//! about, a group of bars for each number of connections, a bar for each server.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::plot::{self, Growth};
use super::record::{Record, Series, Server};
use super::report::{BASELINE, chart_metrics, label, number};
use super::statistics::Metric;
use crate::Failure;

const HELP: &str = "\
Draw what `cargo xtask versus --json FILE.json` or
`cargo run --release -p arc-benches --bin growth -- --json FILE.json` measured.

usage: cargo xtask chart FILE.json OUT.svg
";

/// All lengths are in SVG's user units: pixels, unless the chart is scaled.
pub const MARGIN: f64 = 24.0;
const PANEL_WIDTH: f64 = 400.0;
/// For the names of the servers.
const NAMES_WIDTH: f64 = 130.0;
/// For the figure and its ratio behind the longest bar.
const FIGURES_WIDTH: f64 = 100.0;
const BARS_WIDTH: f64 = PANEL_WIDTH - NAMES_WIDTH - FIGURES_WIDTH;
const BAR_HEIGHT: f64 = 14.0;
const BAR_PITCH: f64 = 19.0;
/// For the heading of a group.
const GROUP_HEIGHT: f64 = 24.0;
/// For the heading of a panel, and for its axis.
const HEADING_HEIGHT: f64 = 26.0;
const AXIS_HEIGHT: f64 = 30.0;
/// For the title of the whole, and for what is below it.
const TITLE_HEIGHT: f64 = 46.0;
const FOOT_HEIGHT: f64 = 36.0;

/// About how many marks an axis has.
const MARKS: f64 = 3.0;

/// Grey for the peers and one colour for arc, in tones that are read on white as
/// on black; where the reader prefers dark the text changes.
const STYLE: &str = "\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 17px; font-weight: 600 }
.panel { font-size: 13px; font-weight: 600 }
.soft { fill: #6e7781; font-size: 11px }
.grid { stroke: #8c959f; stroke-opacity: 0.35 }
.arc { fill: #2f81f7 }
.peer { fill: #8c959f }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .soft { fill: #9198a1 }
}";

/// Runs `cargo xtask chart` with the arguments that follow these words.
///
/// # Errors
/// The arguments are not understood, or a file cannot be read or written.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (from, to) = match words[..] {
        ["--help" | "-h"] => {
            print!("{HELP}");
            return Ok(());
        }
        [from, to] => (Path::new(from), Path::new(to)),
        _ => {
            let message = format!("chart takes two files\n\n{HELP}");
            return Err(Failure::Usage(message));
        }
    };
    let fail = |path: &Path, reason: String| {
        let path = path.display();
        Failure::Check(format!("{path}: {reason}"))
    };
    let text = fs::read_to_string(from).map_err(|error| fail(from, error.to_string()))?;
    let svg = picture(&text).map_err(|reason| fail(from, reason))?;
    fs::write(to, svg).map_err(|error| fail(to, error.to_string()))
}

/// What the text of a file is about tells its first key.
fn picture(text: &str) -> Result<String, String> {
    let parsed = |error: serde_json::Error| error.to_string();
    let value: serde_json::Value = serde_json::from_str(text).map_err(parsed)?;
    let nothing = || Err("nothing in it to draw".to_owned());
    if value.get("growth").is_some() {
        let growth: Growth = serde_json::from_value(value).map_err(parsed)?;
        return match growth.growth {
            plot::FORMAT if growth.is_empty() => nothing(),
            plot::FORMAT => Ok(plot::draw(&growth)),
            format => Err(format!("format {format} of growth is not known")),
        };
    }
    let record: Record = serde_json::from_value(value).map_err(parsed)?;
    match record.series.is_empty() {
        true => nothing(),
        false => Ok(draw(&record)),
    }
}

/// What the panels of one row show: the series of a workload.
struct Row<'record> {
    series: Vec<&'record Series>,
    metrics: &'static [Metric],
}

impl Row<'_> {
    fn height(&self) -> f64 {
        let groups = self.series.iter();
        let groups = groups.map(|it| GROUP_HEIGHT + it.servers.len() as f64 * BAR_PITCH);
        HEADING_HEIGHT + groups.sum::<f64>() + AXIS_HEIGHT
    }
}

fn rows(record: &Record) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for series in &record.series {
        let same = |row: &&mut Row<'_>| row.series[0].workload == series.workload;
        match rows.iter_mut().find(same) {
            Some(row) => row.series.push(series),
            None => {
                rows.push(Row { series: vec![series], metrics: chart_metrics(&series.workload) })
            }
        }
    }
    rows
}

/// The chart, as the text of an SVG file.
fn draw(record: &Record) -> String {
    let rows = rows(record);
    let columns = rows.iter().map(|row| row.metrics.len()).max().unwrap_or(1);
    let width = 2.0 * MARGIN + columns as f64 * PANEL_WIDTH;
    let height = TITLE_HEIGHT + rows.iter().map(Row::height).sum::<f64>() + FOOT_HEIGHT;
    let mut svg = Svg::start(width, height, "arc beside its peers", STYLE);
    let title = "arc beside its peers: medians, and ratios to tokio";
    svg.text("title", "start", MARGIN, 30.0, title);
    let mut top = TITLE_HEIGHT;
    for row in &rows {
        for (column, metric) in row.metrics.iter().enumerate() {
            let left = MARGIN + column as f64 * PANEL_WIDTH;
            panel(&mut svg, row, metric, left, top);
        }
        top += row.height();
    }
    svg.text("soft", "start", MARGIN, top + 18.0, &origin(record));
    svg.end()
}

/// What the figures are of.
fn origin(record: &Record) -> String {
    let machine = &record.machine;
    let dirty = if record.dirty { " and changes" } else { "" };
    format!(
        "{}; {} cores, {}, Linux {}; commit {}{dirty}",
        record.date, machine.cores, machine.cpu, machine.kernel, record.commit
    )
}

fn panel(svg: &mut Svg, row: &Row<'_>, metric: &Metric, left: f64, top: f64) {
    let first = row.series[0];
    let plural = if first.workers == 1 { "" } else { "s" };
    let heading =
        format!("{}, {} worker{plural}: {}", first.workload, first.workers, label(metric));
    svg.text("panel", "start", left, top + 16.0, &heading);
    let servers = row.series.iter().flat_map(|series| &series.servers);
    let medians = servers.filter_map(|server| metric.spread(server));
    let most = medians.map(|it| it.median).fold(0.0, f64::max);
    let step = step(most);
    let end = (most / step).ceil().max(1.0) * step;
    let zero = left + NAMES_WIDTH;
    let bottom = top + row.height() - AXIS_HEIGHT;
    axis(svg, zero, top + HEADING_HEIGHT, bottom, step, end);

    let mut y = top + HEADING_HEIGHT;
    for series in &row.series {
        let group = format!("{} connections", series.connections);
        svg.text("soft", "start", left, y + 16.0, &group);
        y += GROUP_HEIGHT;
        for server in &series.servers {
            bar(svg, metric, series, server, zero, y, end);
            y += BAR_PITCH;
        }
    }
}

/// Grid lines, the numbers below them, and nothing else: the heading has the unit.
fn axis(svg: &mut Svg, zero: f64, top: f64, bottom: f64, step: f64, end: f64) {
    let count = (end / step).round() as usize;
    for mark in 0..=count {
        let value = mark as f64 * step;
        let x = zero + value / end * BARS_WIDTH;
        svg.grid_line((x, top), (x, bottom));
        svg.text("soft", "middle", x, bottom + 14.0, &short(value));
    }
}

fn bar(
    svg: &mut Svg,
    metric: &Metric,
    series: &Series,
    server: &Server,
    zero: f64,
    y: f64,
    end: f64,
) {
    let baseline = y + BAR_HEIGHT - 3.0;
    svg.text("", "end", zero - 8.0, baseline, &server.name);
    let Some(spread) = metric.spread(server) else {
        return;
    };
    let width = spread.median / end * BARS_WIDTH;
    let class = if server.name.starts_with("arc") { "arc" } else { "peer" };
    svg.line(format_args!(
        "<rect class=\"{class}\" x=\"{zero:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{BAR_HEIGHT}\" rx=\"2\"/>"
    ));
    let peer = series.server(BASELINE).filter(|peer| peer.name != server.name);
    let ratio = peer.and_then(|peer| metric.ratio(server, peer));
    let ratio = ratio.map_or(String::new(), |ratio| format!("  ×{:.2}", ratio.median));
    let figure = number(spread.median) + &ratio;
    svg.text("", "start", zero + width + 6.0, baseline, &figure);
}

/// The distance of an axis' marks: 1, 2 or 5 times a power of ten.
fn step(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let rough = most / MARKS;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|it| it * power >= rough);
    factor.unwrap_or(10.0) * power
}

/// A number at an axis.
pub fn short(value: f64) -> String {
    // Rust prints the shortest text that is the number, so it is rounded first.
    let digits = |value: f64| (value * 1e6).round() / 1e6;
    match value {
        0.0 => "0".to_owned(),
        _ if value >= 1e6 => format!("{}M", digits(value / 1e6)),
        _ if value >= 1e3 => format!("{}k", digits(value / 1e3)),
        _ => digits(value).to_string(),
    }
}

/// The text of the file so far.
pub struct Svg(String);

impl Svg {
    pub fn start(width: f64, height: f64, title: &str, style: &str) -> Self {
        let mut svg = Self(String::new());
        svg.line(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\">"
        ));
        svg.line(format_args!("<title>{title}</title>"));
        svg.line(format_args!("<style>\n{style}\n</style>"));
        svg
    }

    pub fn end(mut self) -> String {
        self.line(format_args!("</svg>"));
        self.0
    }

    pub fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{line}").expect("a String takes all");
    }

    pub fn text(&mut self, class: &str, anchor: &str, x: f64, y: f64, text: &str) {
        let text = escape(text);
        self.line(format_args!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" \
             x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        ));
    }

    /// Text around a point that reads from below.
    pub fn turned_text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escape(text);
        self.line(format_args!(
            "<text class=\"{class}\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\" \
             transform=\"rotate(-90 {x:.1} {y:.1})\">{text}</text>"
        ));
    }

    pub fn grid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.line(format_args!(
            "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
pub mod tests {
    use super::super::record::tests::record;
    use super::*;

    /// Whether every element is closed in order; attributes have quotes, text has
    /// none of the characters that would need escaping.
    pub fn check_well_formed(svg: &str) {
        let mut open = Vec::new();
        let mut rest = svg;
        while let Some(start) = rest.find('<') {
            assert!(!rest[..start].contains('>'), "a stray > in {:?}", &rest[..start]);
            let end = start + rest[start..].find('>').expect("a tag ends");
            let tag = &rest[start + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            let name = tag.trim_start_matches('/').split_whitespace().next().unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') {
                open.push(name);
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "{open:?}");
        assert_eq!(rest.trim(), "");
    }

    #[test]
    fn a_chart_is_well_formed_and_always_the_same() {
        let mut record = record();
        record.machine.cpu = "a <fast> & cheap one".to_owned();
        let svg = draw(&record);
        check_well_formed(&svg);
        assert_eq!(svg, draw(&record));
        assert!(svg.contains("a &lt;fast&gt; &amp; cheap one"));
    }

    #[test]
    fn figures_and_ratios_are_written_at_the_bars() {
        let svg = draw(&record());
        assert!(svg.contains(">115  ×1.15<"), "{svg}");
        assert!(svg.contains(">100<"));
        // Two servers in three panels.
        assert_eq!(svg.matches("<rect").count(), 6);
    }

    #[test]
    fn series_of_a_workload_share_their_panels() {
        let mut record = record();
        let mut other = record.series[0].clone();
        other.connections = 256;
        record.series.push(other);
        let rows = rows(&record);
        assert_eq!((rows.len(), rows[0].series.len()), (1, 2));
    }

    #[test]
    fn axes_have_round_marks() {
        assert_eq!([0.0, 2.9, 115.0, 62_000.0].map(step), [1.0, 1.0, 50.0, 50_000.0]);
        let texts = [0.0, 0.2, 15.0, 1500.0, 2e6].map(short);
        assert_eq!(texts, ["0", "0.2", "15", "1.5k", "2M"]);
    }

    #[test]
    fn a_file_is_told_by_what_is_in_it() {
        let record = serde_json::to_string(&record()).unwrap();
        assert!(picture(&record).unwrap().contains("beside its peers"));
        let growth = |format: u32, points: &str| {
            format!(
                r#"{{"growth": {format}, "cores": 2, "workers": 2, "rounds": 5, "series": [
                {{"name": "a", "item": "b", "operation": "c", "points": [{points}]}}]}}"#
            )
        };
        let point = r#"{"size": 1, "runtimes": [{"runtime": "arc", "nanoseconds": 1}]}"#;
        let picture_of = |format, points| picture(&growth(format, points));
        assert!(picture_of(1, point).unwrap().contains("one more"));
        assert_eq!(picture_of(1, ""), Err("nothing in it to draw".to_owned()));
        let unknown = "format 2 of growth is not known".to_owned();
        assert_eq!(picture_of(2, point), Err(unknown));
        assert!(picture("{}").is_err() && picture("[").is_err());
    }

    #[test]
    fn two_files_are_needed() {
        let result = run(&["a.json".to_owned()]);
        assert!(matches!(result, Err(Failure::Usage(_))));
    }
}
