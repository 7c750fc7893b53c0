//! Tables for people: what is printed is Markdown, so that the report is the same text as the
//! commands' output.

use std::fmt;

/// A table. Its first column is text, and all others are numbers.
pub struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these column heads.
    pub fn new(head: &[&str]) -> Self {
        Table(vec![head.iter().map(|it| (*it).to_owned()).collect()])
    }

    /// Adds a row.
    pub fn cells(&mut self, cells: Vec<String>) {
        self.0.push(cells);
    }
}

/// `1234` as `1,234`.
pub fn number(number: usize) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", self::number(number / 1_000), number % 1_000),
    }
}

/// A share in percent, with one decimal; a dash if there is nothing to have a share of.
pub fn percent(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = (part * 1_000 + whole / 2) / whole;
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![3; self.0[0].len()];
        for row in &self.0 {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }

        for (index, row) in self.0.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(formatter, "| {cell:width$} ")?,
                    _ => write!(formatter, "| {cell:>width$} ")?,
                }
            }
            writeln!(formatter, "|")?;
            if index == 0 {
                let rules = widths.iter().skip(1).map(|it| format!("{}:|", "-".repeat(it + 1)));
                let rules: String = rules.collect();
                writeln!(formatter, "|{}|{rules}", "-".repeat(widths[0] + 2))?;
            }
        }
        Ok(())
    }
}
