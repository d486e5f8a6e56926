//! Was Ctrl-C pressed while something else was done?

/// Ctrl-C, which may be pressed while something else is done than looking for it.
pub(super) struct InterruptWatch<'source> {
    source: &'source mut dyn FnMut() -> u32,
    /// Pressed and not yet heeded.
    count: u32,
}

impl<'source> InterruptWatch<'source> {
    pub(super) fn new(source: &'source mut dyn FnMut() -> u32) -> InterruptWatch<'source> {
        InterruptWatch { source, count: 0 }
    }

    /// Whether it was pressed; whoever takes it still finds it.
    pub(super) fn has_come(&mut self) -> bool {
        self.count = self.count.saturating_add((self.source)());
        0 < self.count
    }

    /// How often it was pressed since this was asked last.
    pub(super) fn take(&mut self) -> u32 {
        self.has_come();
        std::mem::take(&mut self.count)
    }
}
