//! Where is a span drawn by a reader that takes from times alone what lies within what? On tracks, each with times that tell
//! all of its beginnings and ends apart.

use std::collections::{BTreeMap, HashMap};

use protocol::{RunId, SpanId, TraceSpan};

use super::SpanEdge;

/// Tracks for what overlaps with the spans of its own lane, above those of hooks.
const FIRST_BESIDE: u32 = 1 << 17;

/// The place of a span on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanPlace {
    /// Of the run; 0 is where the run itself lies.
    pub track: u32,
    /// Nothing was drawn there before.
    pub is_new_track: bool,
    /// Microseconds since 1970. Where several things happened on a track within the same one, the later ones are moved on.
    pub start_us: i64,
    /// `None` = it is open.
    pub end_us: Option<i64>,
}

/// Gives each span its place. Told of all edges in their order; holds the tracks of runs that have not ended.
///
/// On a track, a span begins after its parent and ends before it, and spans beside each other do not overlap.
#[derive(Debug, Default)]
pub struct TraceTimeline {
    runs: HashMap<RunId, BTreeMap<u32, Track>>,
}

#[derive(Debug, Default)]
struct Track {
    /// The last time that was given away.
    last_us: Option<i64>,
    /// Spans that have not ended, each within the one before, with the times at which they begin.
    open: Vec<(SpanId, i64)>,
}

impl Track {
    fn take(&mut self, at_us: i64) -> i64 {
        let time = self.last_us.map_or(at_us, |last| at_us.max(last.saturating_add(1)));
        self.last_us = Some(time);
        time
    }

    /// True if a span that begins now lies within what is open, or beside what has ended.
    fn is_free_for(&self, span: &TraceSpan) -> bool {
        self.open.last().is_none_or(|(open, _)| Some(open) == span.parent_span_id.as_ref())
    }

    fn place_of(&self, span: &TraceSpan) -> Option<usize> {
        self.open.iter().rposition(|(open, _)| *open == span.span_id)
    }
}

impl TraceTimeline {
    pub fn new() -> TraceTimeline {
        TraceTimeline::default()
    }

    pub fn place(&mut self, edge: &SpanEdge) -> SpanPlace {
        match edge {
            SpanEdge::Began(span) => self.begin(span),
            SpanEdge::Ended(span) => {
                let place = self.end(span);
                if span.run.is_some() {
                    // Nothing of a run comes after its end.
                    self.runs.remove(&span.run_id);
                }
                place
            }
            SpanEdge::Open(span) | SpanEdge::Resumed(span, ..) => {
                let of_run = self.runs.get(&span.run_id);
                let found = of_run.and_then(|tracks| {
                    let track = track_of(tracks, span)?;
                    let place = tracks.get(&track)?;
                    Some((track, place.open.get(place.place_of(span)?)?.1))
                });
                let (track, start_us) = found.unwrap_or((span.lane, span.start_us));
                SpanPlace { track, is_new_track: false, start_us, end_us: None }
            }
        }
    }

    fn begin(&mut self, span: &TraceSpan) -> SpanPlace {
        let tracks = self.runs.entry(span.run_id.clone()).or_default();
        let is_free = |track: &u32| tracks.get(track).is_none_or(|track| track.is_free_for(span));
        let own = Some(span.lane).filter(is_free);
        let number = own.or_else(|| (FIRST_BESIDE..u32::MAX).find(is_free)).unwrap_or(u32::MAX);
        let is_new_track = !tracks.contains_key(&number);
        let track = tracks.entry(number).or_default();
        let start_us = track.take(span.start_us);
        track.open.push((span.span_id.clone(), start_us));
        SpanPlace { track: number, is_new_track, start_us, end_us: None }
    }

    fn end(&mut self, span: &TraceSpan) -> SpanPlace {
        let tracks = self.runs.entry(span.run_id.clone()).or_default();
        let number = track_of(tracks, span).unwrap_or(span.lane);
        let track = tracks.entry(number).or_default();
        let begun = track.place_of(span).map(|at| track.open.remove(at).1);
        // One whose beginning was not told has the time that it says.
        let start_us = begun.unwrap_or_else(|| track.take(span.start_us));
        let end_us = track.take(span.end_us.unwrap_or(start_us));
        SpanPlace { track: number, is_new_track: false, start_us, end_us: Some(end_us) }
    }
}

/// The track on which a span has begun.
fn track_of(tracks: &BTreeMap<u32, Track>, span: &TraceSpan) -> Option<u32> {
    let has_it = |track: &Track| track.place_of(span).is_some();
    if tracks.get(&span.lane).is_some_and(has_it) {
        return Some(span.lane);
    }
    tracks.range(FIRST_BESIDE..).find(|(_, track)| has_it(track)).map(|(number, _)| *number)
}
