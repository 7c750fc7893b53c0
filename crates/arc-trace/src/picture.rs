//! A timeline as a picture: what a page or a book can show.

use crate::findings::{Finding, LONG_POLL};
use crate::quote;
use crate::timeline::words::time;
use crate::timeline::{Poll, Timeline};
use std::fmt::{Result, Write};

/// In pixels.
const WIDTH: f64 = 960.0;
const LABELS: f64 = 120.0;
const ROW: f64 = 30.0;
const TOP: f64 = 34.0;
const BAR: f64 = 20.0;

/// How many findings are written below the picture, and of how many letters each.
const FINDINGS_MAX: usize = 4;
const LETTERS_MAX: usize = 140;

const STYLE: &str = "
text { font: 12px system-ui, sans-serif; fill: #333; }
.faint { fill: #888; } .axis { stroke: #ddd; }
.poll { fill: #3b78c4; } .job { fill: #8a63b8; } .main { fill: #5f8f4f; }
.long { fill: #d0442f; } .nothing { fill: #d99a1c; } .name { fill: #fff; }
.seat { fill: #cfdcea; } .parked { fill: #e4e7eb; } .look { fill: #7a8594; }
.queue { fill: #d99a1c; }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd; } .faint { fill: #999; } .axis { stroke: #444; } .name { fill: #111; }
  .poll { fill: #6aa4e8; } .seat { fill: #2b3a4c; } .parked { fill: #2a2e35; }
}
";

/// The contents of an `.svg` file.
pub(crate) fn render(timeline: &Timeline) -> String {
    let mut picture = Picture { timeline, text: String::new() };
    // Writing to a string does not fail.
    let _ = picture.draw();
    picture.text
}

struct Picture<'a> {
    timeline: &'a Timeline,
    text: String,
}

impl Picture<'_> {
    fn draw(&mut self) -> Result {
        let timeline = self.timeline;
        // A thread that did nothing would only take room.
        let has_slept = |lane| timeline.sleeps.iter().any(|sleep| sleep.lane == lane);
        let has_polled = |lane: usize| !timeline.lanes[lane].polls.is_empty();
        let is_used = |lane: &usize| has_polled(*lane) || has_slept(*lane);
        let mut lanes: Vec<usize> = (0..timeline.lanes.len()).filter(is_used).collect();
        lanes.sort_by_key(|&lane| timeline.lanes[lane].rank());

        let findings = timeline.findings();
        let findings = &findings[..findings.len().min(FINDINGS_MAX)];
        let bottom = TOP + ROW * (lanes.len() + 2) as f64;
        let height = bottom + 20.0 * findings.len() as f64 + 10.0;
        writeln!(
            self.text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             role=\"img\">"
        )?;
        writeln!(self.text, "<title>A timeline of arc</title>\n<style>{STYLE}</style>")?;

        self.axis(bottom)?;
        for (row, &lane) in lanes.iter().enumerate() {
            self.lane(lane, TOP + ROW * row as f64)?;
        }
        self.looks(TOP + ROW * lanes.len() as f64)?;
        self.queues(TOP + ROW * (lanes.len() + 1) as f64)?;

        for (row, finding) in findings.iter().enumerate() {
            self.finding(bottom + 16.0 + 20.0 * row as f64, finding)?;
        }
        self.text.push_str("</svg>\n");
        Ok(())
    }

    /// A line of text below the picture. SVG does not break lines.
    fn finding(&mut self, y: f64, finding: &Finding) -> Result {
        let mut line: String = finding.text.chars().take(LETTERS_MAX).collect();
        if line.len() < finding.text.len() {
            line += " ...";
        }
        let at = time(finding.at.saturating_sub(self.timeline.begin));
        let line = quote::xml(&line);
        writeln!(self.text, "<text class=\"faint\" x=\"8\" y=\"{y}\">at {at}: {line}</text>")
    }

    /// Where a time is, from the left.
    fn x(&self, at: u64) -> f64 {
        let span = (self.timeline.end - self.timeline.begin).max(1) as f64;
        let since = at.saturating_sub(self.timeline.begin) as f64;
        LABELS + since / span * (WIDTH - LABELS - 10.0)
    }

    fn axis(&mut self, bottom: f64) -> Result {
        let span = self.timeline.end - self.timeline.begin;
        for tenth in 0..=5 {
            let at = span / 5 * tenth;
            let (x, label) = (self.x(self.timeline.begin + at), time(at));
            // The last label would be cut at the border of the picture.
            let anchor = if tenth == 5 { "end" } else { "start" };
            writeln!(self.text, "<path class=\"axis\" d=\"M{x:.1} 22V{bottom}\"/>")?;
            writeln!(
                self.text,
                "<text class=\"faint\" x=\"{x:.1}\" y=\"14\" text-anchor=\"{anchor}\">\
                 {label}</text>"
            )?;
        }
        Ok(())
    }

    fn label(&mut self, y: f64, name: &str) -> Result {
        let y = y + 14.0;
        writeln!(self.text, "<text x=\"8\" y=\"{y}\">{}</text>", quote::xml(name))
    }

    /// Bars of one kind, with those that would touch drawn as one.
    fn bars(&mut self, class: &str, y: f64, high: f64, bars: Vec<(u64, u64)>) -> Result {
        let mut path = String::new();
        let mut open: Option<(f64, f64)> = None;
        let spans = bars.into_iter().map(|(from, to)| (self.x(from), self.x(to)));
        for (from, to) in spans {
            // A bar of a few microseconds has to be seen as well.
            let to = to.max(from + 0.7);
            match &mut open {
                Some((_, end)) if from <= *end + 0.3 => *end = end.max(to),
                _ => {
                    if let Some((from, to)) = open.replace((from, to)) {
                        write!(path, "M{from:.1} {y}H{to:.1}v{high}H{from:.1}z")?;
                    }
                }
            }
        }
        if let Some((from, to)) = open {
            write!(path, "M{from:.1} {y}H{to:.1}v{high}H{from:.1}z")?;
        }

        // An empty path would only be a line of the file.
        if path.is_empty() {
            return Ok(());
        }
        writeln!(self.text, "<path class=\"{class}\" d=\"{path}\"/>")
    }

    fn lane(&mut self, lane: usize, y: f64) -> Result {
        let timeline = self.timeline;
        self.label(y, &timeline.lane_label(lane))?;

        // The sleeps are drawn first, and so lie behind the polls.
        for (class, in_seat) in [("seat", true), ("parked", false)] {
            let sleeps = timeline.sleeps.iter().filter(|sleep| sleep.lane == lane);
            let sleeps = sleeps.filter(|sleep| sleep.in_seat == in_seat);
            let until = |end: Option<u64>| end.unwrap_or(timeline.end);
            let bars = sleeps.map(|sleep| (sleep.begin, until(sleep.end)));
            self.bars(class, y + 6.0, 8.0, bars.collect())?;
        }

        // What is bad is drawn last, so that no other bar hides it.
        let polls = &timeline.lanes[lane].polls;
        for class in ["main", "job", "poll", "nothing", "long"] {
            let polls = polls.iter().map(|&poll| &timeline.polls[poll]);
            let polls = polls.filter(|poll| self.class(poll) == class);
            let bars = polls.map(|poll| (poll.begin, poll.end.unwrap_or(timeline.end)));
            self.bars(class, y, BAR, bars.collect())?;
        }

        for &poll in polls {
            self.name(&timeline.polls[poll], y)?;
        }
        Ok(())
    }

    fn class(&self, poll: &Poll) -> &'static str {
        let task = &self.timeline.tasks[&poll.task];
        match (task.is_main, task.is_job) {
            _ if self.timeline.did_panic(poll) => "long",
            // These two may take as long as they like: no worker waits for them.
            (true, _) => "main",
            (_, true) => "job",
            _ if poll.time(self.timeline.end) > LONG_POLL => "long",
            _ if poll.did_nothing => "nothing",
            _ => "poll",
        }
    }

    /// The name of a task, where its bar has room for it.
    fn name(&mut self, poll: &Poll, y: f64) -> Result {
        let Some(name) = &self.timeline.tasks[&poll.task].name else { return Ok(()) };
        let from = self.x(poll.begin);
        let to = self.x(poll.end.unwrap_or(self.timeline.end));
        // A letter is about 7 pixels wide, whatever letter it is.
        if to - from < 7.0 * name.len() as f64 + 8.0 {
            return Ok(());
        }

        let (x, y, name) = (from + 4.0, y + 14.0, quote::xml(name));
        writeln!(self.text, "<text class=\"name\" x=\"{x:.1}\" y=\"{y}\">{name}</text>")
    }

    fn looks(&mut self, y: f64) -> Result {
        self.label(y, "the kernel")?;
        let looks = &self.timeline.looks;
        let end = self.timeline.end;
        let waits = looks.iter().filter(|look| look.waits);
        let waits = waits.map(|look| (look.begin, look.end.unwrap_or(end))).collect();
        self.bars("seat", y + 4.0, 12.0, waits)?;

        // A look that has found something, by the moment of the answer.
        let told = looks.iter().filter(|look| !look.ready.is_empty());
        let told = told.filter_map(|look| Some((look.end?, look.end?))).collect();
        self.bars("look", y, BAR, told)
    }

    /// How many tasks wait in queues: the most of each pixel.
    fn queues(&mut self, y: f64) -> Result {
        self.label(y, "tasks in queues")?;
        let mut length = 0_i64;
        let mut most = vec![0_i64; WIDTH as usize + 1];
        let mut filled = 0;
        for (at, change) in self.timeline.queue_changes() {
            // Where nothing changes, it is as many as before.
            let pixel = self.x(at) as usize;
            if pixel > filled {
                most[filled + 1..=pixel].fill(length);
            }
            length += change;
            most[pixel] = most[pixel].max(length);
            filled = pixel;
        }

        // The highest bar fills the row, and the lowest is a pixel high.
        let highest = most.iter().copied().max().unwrap_or(0).max(1) as f64;
        let bottom = y + BAR;
        let mut path = String::new();
        for (x, &length) in most.iter().enumerate().filter(|(_, length)| **length > 0) {
            let high = (length as f64 / highest * BAR).max(1.0);
            write!(path, "M{x} {bottom}v-{high:.1}h1v{high:.1}z")?;
        }
        writeln!(self.text, "<path class=\"queue\" d=\"{path}\"/>")
    }
}
