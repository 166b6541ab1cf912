//! What came of it, in words: the table, the last line, and what an interruption leaves behind.

use std::{io::IsTerminal as _, time::Duration};

use crate::{count::Counts, ways::Way};

/// The sale in one way.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Whether this way promises that no update is lost.
    pub(crate) safe: bool,
    /// How many items were left in the end.
    pub(crate) left: u64,
    pub(crate) commands: Option<Counts>,
    /// How long every confirmed order took, in microseconds, the shortest first.
    micros: Vec<u32>,
    took: Duration,
}

impl Row {
    pub(crate) fn new(
        way: &dyn Way,
        mut micros: Vec<u32>,
        took: Duration,
        commands: Option<Counts>,
    ) -> Self {
        micros.sort_unstable();
        Self { name: way.name(), safe: way.is_safe(), left: 0, commands, micros, took }
    }

    /// How many orders were confirmed.
    pub(crate) fn sold(&self) -> u64 {
        self.micros.len() as u64
    }

    /// Orders that were confirmed, less the items that left the stock.
    pub(crate) fn lost(&self, items: u64) -> i128 {
        i128::from(self.sold()) - (i128::from(items) - i128::from(self.left))
    }

    pub(crate) fn sales_per_second(&self) -> f64 {
        self.sold() as f64 / self.took.as_secs_f64()
    }

    /// How long so many percent of the orders took at most, in milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let last = self.micros.len().saturating_sub(1);
        let micros = self.micros.get((self.micros.len() * percent / 100).min(last));
        f64::from(micros.copied().unwrap_or_default()) / 1_000.0
    }

    fn cells(&self, items: u64) -> [String; 7] {
        let commands = self.commands.as_ref();
        [
            self.name.to_owned(),
            grouped(self.sold()),
            grouped_signed(self.lost(items)),
            grouped(self.sales_per_second() as u64),
            time(self.percentile(50)),
            time(self.percentile(99)),
            commands.map_or_else(
                || "not told".to_owned(),
                |commands| format!("{:.2}", commands.total() as f64 / self.sold().max(1) as f64),
            ),
        ]
    }
}

const HEAD: [&str; 7] = ["way", "sold", "lost updates", "sales/s", "p50", "p99", "commands/sale"];
const LOST: usize = 2;

pub(crate) fn table(rows: &[Row], items: u64) -> String {
    let cells: Vec<_> = rows.iter().map(|row| row.cells(items)).collect();
    let widths: [usize; 7] = std::array::from_fn(|i| {
        cells.iter().map(|row| row[i].len()).chain([HEAD[i].len()]).max().unwrap_or_default()
    });
    let line = |cells: [&str; 7], paint: Option<&str>| {
        let cell = |(i, text): (usize, &str)| {
            let width = widths[i];
            let text = if i == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") };
            match paint.filter(|_| i == LOST) {
                Some(colour) => format!("\x1b[1;{colour}m{text}\x1b[0m"),
                None => text,
            }
        };
        cells.into_iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
    };
    let rule = widths.map(|width| "─".repeat(width)).join("──");
    let mut lines = vec![line(HEAD, None), rule];
    for (row, cells) in rows.iter().zip(&cells) {
        let colour = if row.lost(items) == 0 { "32" } else { "31" };
        lines.push(line(cells.each_ref().map(String::as_str), has_colours().then_some(colour)));
    }
    lines.join("\n") + "\n"
}

pub(crate) fn last_line(rows: &[Row], items: u64) -> String {
    let each: Vec<_> = rows.iter().map(|row| format!("{} {}", row.name, row.lost(items))).collect();
    format!("lost updates: {}", each.join(", "))
}

/// What is said after Ctrl-C.
pub(crate) fn interruption(way: &str, held: u64, answered: bool, free: bool) -> String {
    let held = match held {
        0 => "no lock held".to_owned(),
        1 => "1 lock held and released".to_owned(),
        several => format!("{several} locks held and released"),
    };
    let answered = if answered { "" } else { ", not every release answered" };
    let free = if free { "none is left" } else { "one is left, and ends with its TTL" };
    format!("\ninterrupted at {way}: {held}{answered}, {free}")
}

/// So many milliseconds, in seven characters at most up to 1,000 s.
pub(crate) fn time(ms: f64) -> String {
    match ms {
        ..100.0 => format!("{ms:.1} ms"),
        ..1_000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1_000.0),
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// As [`grouped`], of a number that may be below zero.
pub(crate) fn grouped_signed(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX)))
}

fn has_colours() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
