//! How long do things of one kind take? Counted by bounds, without a lock, and without keeping what was counted.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Durations counted by upper bounds, as Prometheus has them. Of what was counted between two looks none is lost; a look that
/// falls into a count may miss it.
#[derive(Debug)]
pub struct DurationHistogram {
    /// Bounds in microseconds, rising.
    bounds: &'static [u64],
    /// One for each bound, and one for what is beyond the last.
    counts: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

/// The counts of a histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationCounts {
    /// Each bound in microseconds, with how many took no longer.
    pub up_to: Vec<(u64, u64)>,
    pub count: u64,
    pub sum_us: u64,
}

impl DurationHistogram {
    /// `bounds`: in microseconds, rising.
    pub fn new(bounds: &'static [u64]) -> DurationHistogram {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        DurationHistogram { bounds, counts, sum_us: AtomicU64::new(0) }
    }

    pub fn count(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let place = self.bounds.partition_point(|bound| *bound < us);
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    pub fn counts(&self) -> DurationCounts {
        let mut count = 0;
        let mut up_to = Vec::with_capacity(self.bounds.len());
        for (place, of_bound) in self.counts.iter().enumerate() {
            count += of_bound.load(Ordering::Relaxed);
            up_to.extend(self.bounds.get(place).map(|bound| (*bound, count)));
        }
        DurationCounts { up_to, count, sum_us: self.sum_us.load(Ordering::Relaxed) }
    }
}

impl DurationCounts {
    /// The least bound that so large a share of all stays within; `None` when nothing was counted, or when it is beyond the last.
    pub fn share_within(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count as f64 * share).ceil().max(1.0);
        let (bound, _) = self.up_to.iter().find(|(_, count)| wanted <= *count as f64)?;
        Some(Duration::from_micros(*bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_counts_up_to_all_bounds_that_it_stays_within() {
        let histogram = DurationHistogram::new(&[10, 100]);
        for us in [0, 10, 11, 100, 101, 5_000] {
            histogram.count(Duration::from_micros(us));
        }
        let counts = histogram.counts();
        assert_eq!((counts.up_to.as_slice(), counts.count), ([(10, 2), (100, 4)].as_slice(), 6));
        assert_eq!(counts.sum_us, 5_222);
        assert_eq!(counts.share_within(0.5), Some(Duration::from_micros(100)));
        assert_eq!(counts.share_within(0.1), Some(Duration::from_micros(10)));
        assert_eq!(counts.share_within(0.99), None);
        assert_eq!(DurationHistogram::new(&[10]).counts().share_within(0.5), None);
    }
}
