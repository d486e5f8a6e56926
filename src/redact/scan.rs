//! Which stretches of a text are hidden, decided from left to right while it arrives?
//!
//! Every decision is a function of the text alone: whether something begins at a place is decided once there is
//! enough text to tell, and until then nothing from that place on is put out. So it does not matter in which pieces
//! a text arrives, and [`RedactionScan`] is used for whole texts and for streams alike.

use super::{
    HiddenSpan, RedactionRules,
    pattern::PatternWalk,
    shapes::{LONGEST_ESCAPE, SHAPES, SecretGrowth, ShapeMatch},
    window::{NeedsMoreText, TextWindow},
};

/// Bytes kept before what has not been put out: some decisions ask what stands before.
const LOOK_BEHIND: usize = LONGEST_ESCAPE;

/// A secret whose end has not been seen.
struct OpenSecret {
    shape: usize,
    start: usize,
    /// Known to be hidden up to here.
    at: usize,
    growth: SecretGrowth,
}

/// What is to be put out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPiece {
    /// This stretch, as it is.
    Plain { start: usize, end: usize },
    /// The marker of a block that begins there.
    Mark { start: usize, label: u32 },
}

/// How far a text has been judged and put out. Positions are within the window of the next call.
pub(super) struct RedactionScan {
    /// It is known what begins before it.
    next: usize,
    /// For each shape: nothing of it begins before.
    looked_to: Vec<usize>,
    open: Vec<OpenSecret>,
    /// Letters of a name in bytes that has no end yet are known up to here.
    letters_read_to: usize,
    walk: Option<PatternWalk>,
    /// Found and not put out.
    found: Vec<HiddenSpan>,
    /// Everything before it has been put out.
    shown: usize,
    /// Where the last block ends that was put out; what begins before belongs to it.
    covered: usize,
}

impl RedactionScan {
    pub fn new(rules: &RedactionRules) -> RedactionScan {
        RedactionScan {
            next: 0,
            looked_to: vec![0; SHAPES.len()],
            open: Vec::new(),
            letters_read_to: 0,
            walk: rules.patterns.as_ref().map(PatternWalk::new),
            found: Vec::new(),
            shown: 0,
            covered: 0,
        }
    }

    /// Without the configured patterns, when it is known that they match nowhere.
    pub fn without_patterns(rules: &RedactionRules) -> RedactionScan {
        RedactionScan { walk: None, ..RedactionScan::new(rules) }
    }

    /// Judges as much as can be judged, and puts out what has been decided.
    pub fn advance(&mut self, rules: &RedactionRules, window: &TextWindow<'_>) -> Vec<OutputPiece> {
        self.follow_open(window);
        self.judge_all(rules, window);
        if let (Some(walk), Some(patterns)) = (&mut self.walk, &rules.patterns) {
            walk.advance(patterns, window);
        }
        self.put_out(rules, window)
    }

    /// Bytes at the front of the window that are not asked for again.
    pub fn spent(&self) -> usize {
        let open = self.open.iter().map(|open| open.at);
        let held = self.walk.as_ref().map(PatternWalk::held_from);
        let needed = open.chain(held).fold(self.next.min(self.shown), usize::min);
        needed.saturating_sub(LOOK_BEHIND)
    }

    /// The window of the next call begins this much later.
    pub fn shift(&mut self, by: usize) {
        self.next -= by;
        self.shown -= by;
        self.covered = self.covered.saturating_sub(by);
        self.letters_read_to = self.letters_read_to.saturating_sub(by);
        for looked_to in &mut self.looked_to {
            *looked_to = looked_to.saturating_sub(by);
        }
        for open in &mut self.open {
            open.start = open.start.saturating_sub(by);
            open.at -= by;
        }
        self.found.retain_mut(|block| block.shift(by));
        if let Some(walk) = &mut self.walk {
            walk.shift(by);
        }
    }

    fn follow_open(&mut self, window: &TextWindow<'_>) {
        let (found, looked_to) = (&mut self.found, &mut self.looked_to);
        self.open.retain_mut(|open| {
            let (end, is_over) = open.growth.follow(window, open.at);
            open.at = end;
            let label = u32::try_from(open.shape).expect("shapes are few");
            found.push(HiddenSpan { start: open.start, end, label });
            looked_to[open.shape] = end;
            !is_over
        });
    }

    fn judge_all(&mut self, rules: &RedactionRules, window: &TextWindow<'_>) {
        while let Some(start) = rules.triggers.next(window, self.next) {
            self.next = start;
            if self.judge(rules, window, start).is_err() {
                return;
            }
            self.next = start + 1;
        }
        self.next = window.bytes().len();
    }

    /// All or nothing: what cannot be decided yet leaves no trace.
    fn judge(
        &mut self,
        rules: &RedactionRules,
        window: &TextWindow<'_>,
        start: usize,
    ) -> Result<(), NeedsMoreText> {
        let known = rules.needles.longest_at(window, start)?;
        let mut judgements = Vec::new();
        for shape in rules.triggers.shapes_at(window, start) {
            // An open one goes on to the end of the window, so nothing else of its shape begins here.
            let is_open = self.open.iter().any(|open| open.shape == shape);
            if !is_open && self.looked_to[shape] <= start {
                judgements.push((shape, SHAPES[shape].judge(window, start)?));
            }
        }
        let named = rules.named_bytes(window, start, &mut self.letters_read_to)?;
        self.found.extend(known.map(|(end, label)| HiddenSpan { start, end, label }));
        self.found.extend(named);
        for (shape, judgement) in judgements {
            match judgement {
                ShapeMatch::Nothing { looked_to } => self.looked_to[shape] = looked_to,
                ShapeMatch::Secret { start, mut end, growth } => {
                    if let Some(growth) = growth {
                        let (at, is_over) = growth.follow(window, end);
                        end = at;
                        if !is_over {
                            self.open.push(OpenSecret { shape, start, at, growth });
                        }
                    }
                    self.looked_to[shape] = end;
                    let label = u32::try_from(shape).expect("shapes are few");
                    self.found.push(HiddenSpan { start, end, label });
                }
            }
        }
        Ok(())
    }

    fn put_out(&mut self, rules: &RedactionRules, window: &TextWindow<'_>) -> Vec<OutputPiece> {
        let walk = self.walk.as_ref();
        let held = self.open.iter().map(|open| open.at).chain(walk.map(PatternWalk::held_from));
        let limit = held.fold(self.next, usize::min);
        let is_due = |block: &HiddenSpan| block.start < limit || window.is_whole;
        let mut due: Vec<HiddenSpan> = self.found.extract_if(.., |block| is_due(block)).collect();
        due.extend(walk.into_iter().flat_map(|walk| walk.blocks.iter().copied()).filter(is_due));
        // What tells most gives the name when several begin at one place.
        due.sort_by_key(|block| (block.start, rules.rank(block.label)));
        let mut pieces = Vec::new();
        for block in due {
            if block.start >= self.covered {
                if block.start > self.shown {
                    pieces.push(OutputPiece::Plain { start: self.shown, end: block.start });
                }
                pieces.push(OutputPiece::Mark { start: block.start, label: block.label });
            }
            self.covered = self.covered.max(block.end);
            self.shown = self.shown.max(self.covered);
        }
        if limit > self.shown {
            pieces.push(OutputPiece::Plain { start: self.shown, end: limit });
            self.shown = limit;
        }
        pieces
    }
}
