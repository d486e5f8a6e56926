//! How is a figure shown, and how are many made one?

use std::time::Duration;

/// Prints rows as they come, so that a slow bench shows that it lives.
pub struct Table;

/// One promise.
pub struct Row<'a> {
    pub name: &'a str,
    /// In `unit`; the best of the repetitions, since what else a machine does only ever adds.
    pub figure: f64,
    pub bound: f64,
    pub unit: &'a str,
    /// More is better.
    pub is_rate: bool,
    /// What it is compared with, and by what factor.
    pub baseline: Option<(&'a str, f64)>,
    /// What else was seen.
    pub note: String,
}

impl Table {
    pub fn new() -> Table {
        println!("{:<52} {:>12} {:>12}  {:<5} {:<30} also", "number", "figure", "bound", "", "baseline");
        Table
    }

    pub fn row(&mut self, row: Row<'_>) {
        let Row { name, figure, bound, unit, is_rate, baseline, note } = row;
        let is_kept = if is_rate { bound <= figure } else { figure <= bound };
        let baseline = baseline
            .map(|(what, value)| format!("{:.1} x {what} ({} {unit})", figure / value, number(value)))
            .unwrap_or_default();
        println!(
            "{name:<52} {:>12} {:>12}  {:<5} {baseline:<30} {note}",
            format!("{} {unit}", number(figure)),
            format!("{} {unit}", number(bound)),
            if is_kept { "ok" } else { "OVER" },
        );
    }
}

/// Three digits that matter.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The value below which `share` of the durations lie, in milliseconds.
pub fn percentile(durations: &[Duration], share: f64) -> f64 {
    let mut sorted: Vec<Duration> = durations.to_vec();
    sorted.sort();
    let last = sorted.len().saturating_sub(1);
    // Cannot truncate: `share` is at most 1.
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).map_or(f64::NAN, |duration| millis(*duration))
}

pub fn median(durations: &[Duration]) -> f64 {
    percentile(durations, 0.5)
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// The least of some figures.
pub fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The one in the middle.
pub fn middle(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// All of them, in the order measured.
pub fn listed(figures: &[f64]) -> String {
    let figures: Vec<String> = figures.iter().map(|it| number(*it)).collect();
    format!("of {}", figures.join(", "))
}
