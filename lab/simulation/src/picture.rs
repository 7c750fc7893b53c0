//! The ratios of many cells, as SVG: a panel for each number of workers, in it a row for
//! each length of polls and a column for each load. Blue: arc's mean latency is shorter
//! than tokio's; red: it is longer; each field has the ratio in it.

use crate::cell::Cell;
use crate::system::Figures;
use std::fmt::Write;

/// In SVG's user units.
const FIELD: (f64, f64) = (62.0, 24.0);
const NAMES: f64 = 130.0;
const HEADING: f64 = 60.0;
const MARGIN: f64 = 20.0;

/// At this ratio, and at one by it, the colour is full.
const FULL: f64 = 2.0;

/// Draws the mean latency of arc over tokio's.
pub fn draw(cells: &[Cell], figures: &[[Figures; 3]]) -> String {
    let workers = distinct(cells, |cell| cell.workers.to_string());
    let polls = distinct(cells, |cell| cell.polls.name());
    let loads = distinct(cells, |cell| cell.load.name());
    let panel = HEADING + polls.len() as f64 * FIELD.1;
    let width = 2.0 * MARGIN + NAMES + loads.len() as f64 * FIELD.0;
    let height = 2.0 * MARGIN + workers.len() as f64 * panel;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (row, workers) in workers.iter().enumerate() {
        let top = MARGIN + row as f64 * panel;
        let title = format!("{workers} workers: mean latency, arc / tokio");
        text(&mut svg, (MARGIN, top + 16.0), "start", &title);
        for (column, load) in loads.iter().enumerate() {
            let x = MARGIN + NAMES + (column as f64 + 0.5) * FIELD.0;
            text(&mut svg, (x, top + HEADING - 8.0), "middle", load);
        }
        for (row, polls) in polls.iter().enumerate() {
            let y = top + HEADING + (row as f64 + 0.7) * FIELD.1;
            text(&mut svg, (MARGIN + NAMES - 8.0, y), "end", polls);
        }
    }
    for (cell, [arc, tokio, _]) in cells.iter().zip(figures) {
        let place = |names: &[String], name: String| {
            names.iter().position(|it| *it == name).expect("it is one of them") as f64
        };
        let top = MARGIN + place(&workers, cell.workers.to_string()) * panel + HEADING;
        let x = MARGIN + NAMES + place(&loads, cell.load.name()) * FIELD.0;
        let y = top + place(&polls, cell.polls.name()) * FIELD.1;
        field(&mut svg, (x, y), arc.mean / tokio.mean);
    }
    svg + "</svg>\n"
}

fn distinct(cells: &[Cell], name: impl Fn(&Cell) -> String) -> Vec<String> {
    let mut names = Vec::new();
    for cell in cells {
        let name = name(cell);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn field(svg: &mut String, (x, y): (f64, f64), ratio: f64) {
    let (width, height) = (FIELD.0 - 1.0, FIELD.1 - 1.0);
    writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
        colour(ratio)
    )
    .expect("a String takes all");
    let middle = (x + FIELD.0 / 2.0, y + FIELD.1 * 0.7);
    text(svg, middle, "middle", &format!("{ratio:.2}"));
}

/// White where both are equal.
fn colour(ratio: f64) -> String {
    let strength = (ratio.ln() / FULL.ln()).clamp(-1.0, 1.0);
    let fade = |full: f64| (255.0 - (255.0 - full) * strength.abs()) as u8;
    let [red, green, blue] = match strength > 0.0 {
        true => [239.0, 108.0, 91.0],
        false => [92.0, 155.0, 213.0],
    };
    format!("#{:02x}{:02x}{:02x}", fade(red), fade(green), fade(blue))
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>")
        .expect("a String takes all");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Load, Polls};

    #[test]
    fn each_cell_is_a_field_with_its_ratio() {
        let cell = |workers, load| Cell {
            workers,
            cores: None,
            polls: Polls::Equal(1_000),
            load: Load::Closed(load),
            client_threads: 1,
            client_cost: 1,
            requests: 1,
        };
        let cells = [cell(1, 1), cell(1, 8), cell(2, 1), cell(2, 8)];
        let figures = [1.0, 2.0, 4.0, 8.0].map(|mean| {
            let arc = Figures { mean, ..Figures::default() };
            let tokio = Figures { mean: 4.0, ..Figures::default() };
            [arc, tokio, tokio]
        });
        let svg = draw(&cells, &figures);
        assert_eq!(svg.matches("<rect").count(), 5);
        for ratio in ["0.25", "0.50", "1.00", "2.00"] {
            assert_eq!(svg.matches(&format!(">{ratio}<")).count(), 1, "{ratio}");
        }
        assert_eq!((colour(1.0), colour(9.0)), ("#ffffff".to_owned(), "#ef6c5b".to_owned()));
    }
}
