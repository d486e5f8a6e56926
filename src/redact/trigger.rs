//! Where might a secret begin? Answers by the next three bytes, fast enough to be asked for every byte.

use super::{
    named_bytes,
    needle::NeedleIndex,
    shapes::SHAPES,
    window::{LetterCase, TextWindow},
};

/// One bit for each value of a hash of three bytes, or for each two bytes.
type Bits = Box<[u64; 1024]>;

/// What the first bytes of all shapes and known values are.
pub(super) struct ScanTriggers {
    three: Bits,
    two: Bits,
    one: [bool; 256],
    /// Bytes that may stand for another, or between the bytes of a known value.
    stands_for_others: [bool; 256],
    /// By first byte: the shapes that begin with it.
    shapes: Vec<Vec<usize>>,
}

impl ScanTriggers {
    /// `has_shapes` = whether shapes are looked for.
    pub fn new(needles: &NeedleIndex, has_shapes: bool) -> ScanTriggers {
        let mut triggers = ScanTriggers {
            three: Box::new([0; 1024]),
            two: Box::new([0; 1024]),
            one: [false; 256],
            stands_for_others: [false; 256],
            shapes: vec![Vec::new(); 256],
        };
        for beginning in needles.beginnings() {
            triggers.add(beginning);
        }
        if !needles.is_empty() {
            for byte in [b'%', b'\\', b'\n', b'\r'] {
                triggers.stands_for_others[usize::from(byte)] = true;
            }
        }
        if let (true, [first, second, third, ..]) = (has_shapes, named_bytes::PREFIX.as_bytes()) {
            triggers.add([*first, *second, *third]);
        }
        for (index, shape) in SHAPES.iter().enumerate().filter(|_| has_shapes) {
            for beginning in shape.beginnings {
                triggers.add_shape(index, beginning.as_bytes(), shape.case);
            }
        }
        triggers
    }

    fn add(&mut self, [first, second, third]: [u8; 3]) {
        set(&mut self.three, hash(first, second, third));
        set(&mut self.two, pair(first, second));
        self.one[usize::from(first)] = true;
    }

    fn add_shape(&mut self, index: usize, beginning: &[u8], case: LetterCase) {
        // Seen to when the program is built; see the assertion at `SHAPES`.
        let [first, second, third, ..] = beginning else { unreachable!("a beginning has three bytes") };
        let variants = |byte: &u8| match case {
            LetterCase::Exact => [*byte, *byte],
            LetterCase::Any => [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()],
        };
        for first in variants(first) {
            let known = &mut self.shapes[usize::from(first)];
            if !known.contains(&index) {
                known.push(index);
            }
            for second in variants(second) {
                for third in variants(third) {
                    self.add([first, second, third]);
                }
            }
        }
    }

    /// The first place from `from` on where something may begin.
    pub fn next(&self, window: &TextWindow<'_>, from: usize) -> Option<usize> {
        let bytes = window.bytes();
        let rest = bytes.get(from..).unwrap_or_default();
        let whole = rest.array_windows::<3>().position(|three| self.may_begin(*three));
        if let Some(offset) = whole {
            return Some(from + offset);
        }
        if window.is_whole {
            // Nothing that is looked for is shorter than three bytes.
            return None;
        }
        (bytes.len().saturating_sub(2).max(from)..bytes.len()).find(|at| match bytes[*at..] {
            [first, second] => {
                self.is_escape(first)
                    || get(&self.two, pair(first, second))
                    || (self.is_first(first) && self.stands(second))
            }
            [first] => self.is_escape(first) || self.is_first(first),
            _ => false,
        })
    }

    pub fn shapes_at(&self, window: &TextWindow<'_>, at: usize) -> impl Iterator<Item = usize> {
        let first = window.bytes().get(at).copied().unwrap_or_default();
        self.shapes[usize::from(first)].iter().copied()
    }

    fn may_begin(&self, [first, second, third]: [u8; 3]) -> bool {
        get(&self.three, hash(first, second, third))
            || self.is_escape(first)
            || (self.is_first(first) && (self.stands(second) || self.stands(third)))
    }

    fn is_first(&self, byte: u8) -> bool {
        self.one[usize::from(byte)]
    }

    /// Nothing begins with a break.
    fn is_escape(&self, byte: u8) -> bool {
        self.stands(byte) && !matches!(byte, b'\n' | b'\r')
    }

    fn stands(&self, byte: u8) -> bool {
        self.stands_for_others[usize::from(byte)]
    }
}

fn hash(first: u8, second: u8, third: u8) -> usize {
    let number = u32::from_be_bytes([0, first, second, third]).wrapping_mul(0x9E37_79B1);
    (number >> 16) as usize
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

fn set(bits: &mut Bits, at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

fn get(bits: &Bits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}
