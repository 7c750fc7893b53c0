//! Tables for people: what is printed is Markdown, so that the report is the same
//! text as the commands' output.

use std::fmt;

/// A table whose first columns are text and whose others are numbers.
pub struct Table {
    /// How many columns stand to the left; all others are set to the right.
    texts: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column heads, the first `texts` of which are for text.
    pub fn new(texts: usize, head: &[&str]) -> Self {
        let head = head.iter().map(|&each| each.to_owned()).collect();
        Table { texts, rows: vec![head] }
    }

    /// Adds a row; a number is written with a comma at every third digit.
    pub fn row<const TEXTS: usize>(&mut self, texts: [&str; TEXTS], numbers: &[usize]) {
        let mut row: Vec<String> = texts.map(str::to_owned).into();
        row.extend(numbers.iter().copied().map(number));
        self.rows.push(row);
    }

    /// Adds a row of cells that are written already.
    pub fn texts(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        let widths = self.rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0).max(3)
    }
}

/// `1234` as `1,234`.
pub fn number(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.rows[0].len()).map(|it| self.width(it)).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if column < self.texts {
                    write!(formatter, "| {cell:width$} ")?;
                } else {
                    write!(formatter, "| {cell:>width$} ")?;
                }
            }
            writeln!(formatter, "|")?;
            if index == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let end = if column < self.texts { '-' } else { ':' };
                    write!(formatter, "|{}{end}", "-".repeat(width + 1))?;
                }
                writeln!(formatter, "|")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(1, &["file", "lines"]);
        table.row(["a.rs"], &[7]);
        table.row(["longer.rs"], &[12_345]);
        let expected = "\
| file      |  lines |
|-----------|-------:|
| a.rs      |      7 |
| longer.rs | 12,345 |
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_000), "1,000");
        assert_eq!(number(1_234_567), "1,234,567");
    }
}
