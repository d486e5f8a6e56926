//! How are times, sizes and counts written for people?

use std::time::Duration;

use protocol::Timestamp;

/// `120 ms`, `4.2 s`, `2 min 3 s`, `5 h 20 min`, `3 d 4 h`: as in the documents of traces.
pub(super) fn duration(duration: Duration) -> String {
    traces::duration(duration)
}

/// The same for a clock that ticks: no fractions of a second.
pub(super) fn ticking(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        _ => duration(elapsed),
    }
}

/// `2025-11-20 11:04:05Z`: a moment to the second, in UTC.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    let to_the_second = text.split('.').next().unwrap_or(&text);
    format!("{}Z", to_the_second.replace('T', " "))
}

/// `11-20 11:04Z`: the same for a list that has no room for more.
pub(super) fn day_and_minute(at: Timestamp) -> String {
    let whole = moment(at);
    let from_month = whole.split_once('-').map_or(whole.as_str(), |(_, rest)| rest);
    from_month.rsplit_once(':').map_or_else(|| from_month.to_owned(), |(minute, _)| format!("{minute}Z"))
}

/// The same as [`moment`], or `-` for a moment that was not told.
pub(super) fn moment_or_dash(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), moment)
}

/// `512 B`, `1.5 KiB`, `30.2 MiB`.
pub(super) fn bytes(bytes: u64) -> String {
    let mut amount = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if amount < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{amount:.1} {unit}") };
        }
        amount /= 1024.0;
    }
    format!("{amount:.1} TiB")
}

/// `1 turn`, `2 turns`, `12.3k tokens`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    match number {
        0..10_000 => format!("{number} {noun}{plural}"),
        10_000..10_000_000 => format!("{:.1}k {noun}s", number as f64 / 1e3),
        _ => format!("{:.1}M {noun}s", number as f64 / 1e6),
    }
}

/// `12.3k tokens → 2100 tokens`.
pub(super) fn change_of_tokens(before: u64, after: u64) -> String {
    format!("{} → {}", count(before, "token"), count(after, "token"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_in_the_unit_one_would_say() {
        let times = [0, 999, 1_000, 1_999, 59_949, 60_000, 3_599_000, 3_600_000, 172_800_000];
        let texts = times.map(|ms| duration(Duration::from_millis(ms)));
        let expected = [
            "0 ms",
            "999 ms",
            "1.0 s",
            "2.0 s",
            "59.9 s",
            "1 min 0 s",
            "59 min 59 s",
            "1 h 0 min",
            "2 d 0 h",
        ];
        assert_eq!(texts, expected);
        assert_eq!([bytes(512), bytes(1536), bytes(5 << 30)], ["512 B", "1.5 KiB", "5.0 GiB"]);
        assert_eq!(moment(Timestamp(1_763_636_645_123_000)), "2025-11-20 11:04:05Z");
        assert_eq!(day_and_minute(Timestamp(1_763_636_645_123_000)), "11-20 11:04Z");
        assert_eq!(
            [count(1, "turn"), count(0, "turn"), count(12_345, "token")],
            ["1 turn", "0 turns", "12.3k tokens"]
        );
    }
}
