//! `arc-lines FOLDER...` prints how many lines tokei counts in each Rust file: its name, and
//! tokei's columns Code, Comments and Blanks, with tabs between them. Doc comments are Markdown to
//! tokei, and in none of the three.

use std::env;

use tokei::{Config, LanguageType, Languages};

fn main() {
    let folders: Vec<String> = env::args().skip(1).collect();
    let mut languages = Languages::new();
    languages.get_statistics(&folders, &[], &Config::default());

    let mut reports = languages.remove(&LanguageType::Rust).unwrap_or_default().reports;
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    for report in reports {
        let stats = report.stats;
        let name = report.name.display();
        println!("{name}\t{}\t{}\t{}", stats.code, stats.comments, stats.blanks);
    }
}
