//! `cargo xtask chart`: what `versus` or `growth` of arc-benches measured, as a picture in
//! SVG. The same figures give the same bytes, so that a picture can be committed.

use std::fs;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Deserialize;

use crate::Failure;
use crate::record::{Record, Series};
use crate::report::{BASELINE, chart_metrics, label, number};
use crate::statistics::Metric;

/// Why there is no picture.
type Why = Box<dyn std::error::Error>;

/// A picture, or a part of it.
type Area<'svg> = DrawingArea<SVGBackend<'svg>, Shift>;

/// All lengths are in pixels, unless the picture is scaled.
const PANEL_WIDTH: u32 = 420;
const TITLE_HEIGHT: u32 = 36;
const FOOT_HEIGHT: u32 = 28;
const PLOT_HEIGHT: u32 = 290;
/// For the heading and the axis of a panel of bars, and for one bar or the heading of some.
const FRAME_HEIGHT: u32 = 70;
const BAR_HEIGHT: u32 = 20;
const NAMES_WIDTH: u32 = 140;

const FONT: &str = "system-ui, sans-serif";
/// Tones that are read on white as on black.
const TEXT: RGBColor = RGBColor(0x76, 0x83, 0x90);
const ARC: RGBColor = RGBColor(0x2f, 0x81, 0xf7);
const PEERS: [RGBColor; 3] =
    [RGBColor(0xd4, 0x77, 0x2c), RGBColor(0x8f, 0x7a, 0xe5), RGBColor(0x3f, 0xa2, 0x66)];

/// The version of the format of `growth`, which the doc comment of
/// `benches/src/bin/growth.rs` explains.
const FORMAT: u32 = 1;

/// What `growth` measured.
#[derive(Deserialize)]
struct Growth {
    growth: u32,
    cores: usize,
    workers: usize,
    rounds: usize,
    series: Vec<Growing>,
}

#[derive(Deserialize)]
struct Growing {
    name: String,
    item: String,
    operation: String,
    points: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    size: f64,
    runtimes: Vec<Figures>,
}

#[derive(Deserialize)]
struct Figures {
    runtime: String,
    nanoseconds: f64,
    bytes: Option<f64>,
}

/// Draws the file `from` into the file `to`.
///
/// # Errors
/// A file cannot be read or written, or there is nothing to draw.
pub fn run(from: &Path, to: &Path) -> Result<(), Failure> {
    let fail = |path: &Path, why: String| Failure(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(from).map_err(|error| fail(from, error.to_string()))?;
    let svg = picture(&text).map_err(|error| fail(from, error.to_string()))?;
    fs::write(to, svg).map_err(|error| fail(to, error.to_string()))
}

/// What the text of a file is about tells its first key.
fn picture(text: &str) -> Result<String, Why> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    if value.get("growth").is_none() {
        return bars(&serde_json::from_value(value)?);
    }
    let growth: Growth = serde_json::from_value(value)?;
    match growth.growth {
        FORMAT => lines(&growth),
        format => Err(format!("format {format} of growth is not known").into()),
    }
}

/// Text of this size: plotters writes a size of an em and means the height of a line.
fn text(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&TEXT)
}

/// A picture with a title, rows of panels of these heights, and a line below them.
fn framed(
    title: &str,
    foot: &str,
    rows: &[u32],
    columns: usize,
    draw: impl FnOnce(&[Area<'_>]) -> Result<(), Why>,
) -> Result<String, Why> {
    if rows.is_empty() {
        return Err("nothing in it to draw".into());
    }
    let height = TITLE_HEIGHT + rows.iter().sum::<u32>() + FOOT_HEIGHT;
    let mut svg = String::new();
    {
        let all = SVGBackend::with_string(&mut svg, (columns as u32 * PANEL_WIDTH, height));
        let mut below = all.into_drawing_area().titled(title, text(21))?;
        let foot_at = (8, height as i32 - TITLE_HEIGHT as i32 - 18);
        below.draw(&Text::new(foot.to_owned(), foot_at, text(14)))?;

        let mut panels = Vec::new();
        for row in rows {
            let (this, rest) = below.split_vertically(*row);
            panels.extend(this.split_evenly((1, columns)));
            below = rest;
        }
        draw(&panels)?;
        below.present()?;
    }
    Ok(svg)
}

/// A row of panels for each workload, a panel for each figure that it is about, a group of
/// bars for each number of connections, a bar for each server.
fn bars(record: &Record) -> Result<String, Why> {
    let mut rows: Vec<Vec<&Series>> = Vec::new();
    for series in &record.series {
        match rows.iter_mut().find(|row| row[0].workload == series.workload) {
            Some(row) => row.push(series),
            None => rows.push(vec![series]),
        }
    }
    let metrics = |row: &[&Series]| chart_metrics(&row[0].workload);
    let columns = rows.iter().map(|row| metrics(row).len()).max().unwrap_or(1);
    let places = |row: &Vec<&Series>| row.iter().map(|it| 1 + it.servers.len() as u32).sum::<u32>();
    let heights: Vec<_> = rows.iter().map(|row| FRAME_HEIGHT + BAR_HEIGHT * places(row)).collect();

    let machine = &record.machine;
    let dirty = if record.dirty { " and changes" } else { "" };
    let foot = format!(
        "{}; {} cores, {}, Linux {}; commit {}{dirty}",
        record.date, machine.cores, machine.cpu, machine.kernel, record.commit
    );
    framed(
        "arc beside its peers: medians, and ratios to tokio",
        &foot,
        &heights,
        columns,
        |areas| {
            for (row, panels) in rows.iter().zip(areas.chunks(columns)) {
                for (metric, area) in metrics(row).iter().zip(panels) {
                    panel_of_bars(area, row, metric, places(row))?;
                }
            }
            Ok(())
        },
    )
}

fn panel_of_bars(
    area: &Area<'_>,
    row: &[&Series],
    metric: &Metric,
    places: u32,
) -> Result<(), Why> {
    let servers = row.iter().flat_map(|series| &series.servers);
    let medians = servers.filter_map(|server| metric.spread(server));
    let most = medians.map(|it| it.median).fold(f64::MIN_POSITIVE, f64::max);
    let heading = format!("{}, {} workers: {}", row[0].workload, row[0].workers, label(metric));
    // The figures stand behind the bars; places are counted downwards.
    let mut chart = ChartBuilder::on(area)
        .caption(heading, text(16))
        .margin(8)
        .set_label_area_size(LabelAreaPosition::Left, NAMES_WIDTH)
        .set_label_area_size(LabelAreaPosition::Bottom, 24)
        .build_cartesian_2d(0.0..most * 1.4, f64::from(places)..0.0)?;
    let style = text(14);
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().y_labels(0).x_labels(4).x_label_formatter(&|value| short(*value));
    mesh.light_line_style(TRANSPARENT).bold_line_style(TEXT.mix(0.35));
    mesh.axis_style(TEXT.mix(0.35)).label_style(style).draw()?;

    let plane = chart.plotting_area();
    let behind = text(15).pos(Pos::new(HPos::Left, VPos::Center));
    let before = behind.pos(Pos::new(HPos::Right, VPos::Center));
    let mut place = 0.5;
    for series in row {
        let group = format!("{} connections", series.connections);
        plane.draw(&Text::new(group, (0.0, place), before.clone()))?;
        place += 1.0;
        for server in &series.servers {
            let name = EmptyElement::at((0.0, place))
                + Text::new(server.name.clone(), (-6, 0), before.clone());
            plane.draw(&name)?;
            if let Some(spread) = metric.spread(server) {
                let color = if server.name.starts_with("arc") { ARC } else { TEXT };
                let corners = [(0.0, place - 0.35), (spread.median, place + 0.35)];
                plane.draw(&Rectangle::new(corners, color.filled()))?;
                let peer = series.server(BASELINE).filter(|peer| peer.name != server.name);
                let ratio = peer.and_then(|peer| metric.ratio(server, peer));
                let ratio = ratio.map_or(String::new(), |ratio| format!("  ×{:.2}", ratio.median));
                let figure = number(spread.median) + &ratio;
                let figure = EmptyElement::at((spread.median, place))
                    + Text::new(figure, (6, 0), behind.clone());
                plane.draw(&figure)?;
            }
            place += 1.0;
        }
    }
    Ok(())
}

/// A panel of a series: its heading, what its figures are in, and them.
type Panel = (String, &'static str, fn(&Figures) -> Option<f64>);

/// A row for each series, with the cost of one operation, and the memory of one item where
/// it was measured. Both axes are logarithmic; a line for each runtime.
fn lines(growth: &Growth) -> Result<String, Why> {
    let mut rows: Vec<(&Growing, Vec<Panel>)> = Vec::new();
    for series in &growth.series {
        let cost = format!("{}: {}", series.name, series.operation);
        let memory = format!("{}: resident memory of each", series.name);
        let mut panels: Vec<Panel> = vec![
            (cost, "ns per operation", |it| Some(it.nanoseconds)),
            (memory, "bytes per item", |it| it.bytes),
        ];
        panels.retain(|panel| !points(series, panel.2).is_empty());
        if !panels.is_empty() {
            rows.push((series, panels));
        }
    }
    let columns = rows.iter().map(|row| row.1.len()).max().unwrap_or(1);
    let foot = format!(
        "medians; rounds: {}, workers: {} (unless they are what grows), cores: {}",
        growth.rounds, growth.workers, growth.cores
    );
    let heights = vec![PLOT_HEIGHT; rows.len()];
    framed("The cost of one more", &foot, &heights, columns, |areas| {
        for ((series, panels), areas) in rows.iter().zip(areas.chunks(columns)) {
            for (panel, area) in panels.iter().zip(areas) {
                panel_of_lines(area, series, panel)?;
            }
        }
        Ok(())
    })
}

/// The points of each runtime's line: pairs of a size and a figure, both above zero.
fn points(series: &Growing, figure: fn(&Figures) -> Option<f64>) -> Vec<(&str, Vec<(f64, f64)>)> {
    let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for point in &series.points {
        for figures in &point.runtimes {
            let value = figure(figures).filter(|value| *value > 0.0 && point.size > 0.0);
            let Some(value) = value else { continue };
            match lines.iter_mut().find(|line| line.0 == figures.runtime) {
                Some(line) => line.1.push((point.size, value)),
                None => lines.push((&figures.runtime, vec![(point.size, value)])),
            }
        }
    }
    lines
}

fn panel_of_lines(
    area: &Area<'_>,
    series: &Growing,
    (heading, unit, figure): &Panel,
) -> Result<(), Why> {
    let lines = points(series, *figure);
    let all = || lines.iter().flat_map(|line| &line.1);
    let (x, y) = (around(all().map(|it| it.0)), around(all().map(|it| it.1)));
    let style = text(14);
    let mut chart = ChartBuilder::on(area)
        .caption(heading, text(16))
        .margin(8)
        .set_label_area_size(LabelAreaPosition::Left, 56)
        .set_label_area_size(LabelAreaPosition::Bottom, 38)
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(&series.item).y_desc(*unit).label_style(style.clone());
    mesh.x_label_formatter(&|value| short(*value)).y_label_formatter(&|value| short(*value));
    mesh.light_line_style(TRANSPARENT).bold_line_style(TEXT.mix(0.35)).draw()?;

    for (index, (runtime, points)) in lines.iter().enumerate() {
        let color = if *runtime == "arc" { ARC } else { PEERS[index % PEERS.len()] };
        let line = LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3);
        let drawn = chart.draw_series(line)?.label(*runtime);
        drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    chart.configure_series_labels().label_font(style).border_style(TRANSPARENT).draw()?;
    Ok(())
}

/// From just below the least of the values, all above zero, to just above the most.
fn around(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (mut least, mut most) = (f64::MAX, f64::MIN_POSITIVE);
    for value in values {
        least = least.min(value);
        most = most.max(value);
    }
    least / 1.5..most * 1.5
}

/// A number at an axis.
fn short(value: f64) -> String {
    // Rust prints the shortest text that is the number, so it is rounded first.
    let digits = |value: f64| (value * 1e6).round() / 1e6;
    match value {
        _ if value >= 1e6 => format!("{}M", digits(value / 1e6)),
        _ if value >= 1e3 => format!("{}k", digits(value / 1e3)),
        _ => digits(value).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    const POINT: &str = r#"{"size": 1, "runtimes": [{"runtime": "arc", "nanoseconds": 1},
        {"runtime": "tokio", "nanoseconds": 2, "bytes": 8}]}"#;

    fn growth(format: u32, points: &str) -> String {
        format!(
            r#"{{"growth": {format}, "cores": 2, "workers": 2, "rounds": 5, "series": [
            {{"name": "a", "item": "b & <c>", "operation": "d", "points": [{points}]}}]}}"#
        )
    }

    #[test]
    fn bars_have_figures_and_ratios_and_are_always_the_same() {
        let mut record = record();
        record.machine.cpu = "a <fast> & cheap one".to_owned();
        let svg = bars(&record).unwrap();
        assert_eq!(svg, bars(&record).unwrap());
        assert!(svg.contains("a &lt;fast&gt; &amp; cheap one"));
        assert!(svg.contains("115  ×1.15"), "{svg}");
        // Two servers in three panels.
        assert_eq!(svg.matches("<rect").count(), 6);
    }

    #[test]
    fn each_runtime_has_a_line_in_each_panel_with_figures_of_it() {
        let svg = picture(&growth(FORMAT, POINT)).unwrap();
        assert!(svg.contains("The cost of one more") && svg.contains("b &amp; &lt;c&gt;"));
        // Two for the cost, one for the memory.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert_eq!(svg.matches("\ntokio\n").count(), 2);
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        for (text, why) in [
            (growth(FORMAT, ""), "nothing in it to draw"),
            (growth(2, POINT), "format 2 of growth is not known"),
            ("{}".to_owned(), "missing field"),
            ("[".to_owned(), "EOF"),
        ] {
            let told = picture(&text).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
    }

    #[test]
    fn numbers_at_an_axis_are_short() {
        assert_eq!([0.0, 0.2, 15.0, 1500.0, 2e6].map(short), ["0", "0.2", "15", "1.5k", "2M"]);
    }
}
