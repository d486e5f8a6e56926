//! Signs before figures of what models used, where these are not the whole, or not exact.

use protocol::UsdAmount;

/// Requests that keep a sum from being exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sureness {
    /// Requests of which the daemon estimated the tokens, or some of them.
    pub(super) estimated: u64,
    /// Requests of which nobody knows what they used.
    pub(super) uncounted: u64,
}

impl Sureness {
    /// `~812`: some of it is an estimate. `>812`: it is more than that. `?`: more than nothing, and nobody knows how much.
    pub(super) fn mark(self, figure: &str, is_nothing: bool) -> String {
        let estimated = if self.estimated == 0 { "" } else { "~" };
        match (self.uncounted, is_nothing) {
            (0, true) => figure.to_owned(),
            (0, false) => format!("{estimated}{figure}"),
            (_, true) => "?".to_owned(),
            (_, false) => format!(">{estimated}{figure}"),
        }
    }

    /// The same of two sums together.
    pub(super) fn with(self, other: Sureness) -> Sureness {
        Sureness {
            estimated: self.estimated.saturating_add(other.estimated),
            uncounted: self.uncounted.saturating_add(other.uncounted),
        }
    }
}

/// `$0.0192`, with `>` when that is not all; `?` when no price is known of what was used.
pub(super) fn money(cost: Option<UsdAmount>, is_part: bool, sure: Sureness) -> Option<String> {
    let sure = Sureness { uncounted: u64::from(is_part), ..sure };
    match (cost, is_part) {
        (Some(cost), _) => Some(sure.mark(&cost.to_string(), false)),
        (None, true) => Some("?".to_owned()),
        (None, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_say_how_sure_they_are() {
        let of = |estimated, uncounted| Sureness { estimated, uncounted };
        let marks = |sure: Sureness| [sure.mark("812", false), sure.mark("0", true)];
        assert_eq!(marks(of(0, 0)), ["812", "0"]);
        assert_eq!(marks(of(1, 0)), ["~812", "0"]);
        assert_eq!(marks(of(0, 1)), [">812", "?"]);
        assert_eq!(marks(of(2, 3)), [">~812", "?"]);
        assert_eq!(of(1, 0).with(of(1, 2)), of(2, 2));
    }
}
