//! How is a session watched: events shown as they come, connection kept, Ctrl-C heard?

use super::{
    Output,
    failure::Failure,
    progress::Progress,
    screen::{FRAME_TIME, Screen},
};
use crate::{
    client::{Follow, Step, Stopwatch},
    protocol::Envelope,
};

/// What becomes of the events.
pub(super) enum View<'output> {
    /// Lines, text and a spinner for people.
    Progress { progress: Box<Progress>, screen: Screen<'output> },
    /// The envelopes as they came, one a line; notes for people go to `screen`.
    Envelopes { stdout: &'output mut Output, screen: Screen<'output> },
}

impl<'output> View<'output> {
    pub(super) fn progress(stderr: &'output mut Output) -> View<'output> {
        View::Progress { progress: Box::default(), screen: Screen::new(stderr) }
    }

    pub(super) fn envelopes(stdout: &'output mut Output, stderr: &'output mut Output) -> View<'output> {
        View::Envelopes { stdout, screen: Screen::new(stderr) }
    }

    /// Whether text is shown while it is being written.
    pub(super) fn wants_deltas(&self) -> bool {
        match self {
            View::Progress { screen, .. } => screen.is_live(),
            View::Envelopes { .. } => true,
        }
    }

    /// A line for the person that is no event.
    pub(super) fn note(&mut self, text: &str) {
        let (View::Progress { screen, .. } | View::Envelopes { screen, .. }) = self;
        screen.line(text);
    }

    fn show(&mut self, step: &crate::client::Followed) -> Result<(), Failure> {
        match self {
            View::Progress { progress, screen } => {
                progress.show(&step.envelope, screen);
                Ok(())
            }
            View::Envelopes { stdout, .. } => stdout.write_json(step.raw.get()),
        }
    }

    fn tick(&mut self, stopwatch: &Stopwatch, is_connected: bool) {
        if let View::Progress { progress, screen } = self {
            let activity = match is_connected {
                true => progress.activity(),
                false => "waiting for the daemon to come back".into(),
            };
            screen.status(&activity, stopwatch.elapsed());
        }
    }
}

/// What a command wants from watching.
pub(super) trait Watcher {
    /// Whether the event is to be shown at all; what is not wanted of a snapshot may be taken out.
    fn concerns(&mut self, envelope: &mut Envelope) -> bool;
    /// After each event was shown: whether that is all.
    fn is_over(&mut self, envelope: &Envelope) -> bool;
    /// Ctrl-C: whether to leave.
    fn leaves_on_interrupt(&mut self, view: &mut View<'_>) -> bool;
    /// Between events, several times a second.
    fn pause(&mut self, _view: &mut View<'_>) {}
}

/// Why watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Over,
    Left,
}

/// Shows what happens until the watcher has seen enough or the person leaves.
pub(super) fn watch(
    follow: &mut Follow<'_>,
    view: &mut View<'_>,
    interrupts: &mut dyn FnMut() -> u32,
    watcher: &mut dyn Watcher,
) -> Result<End, Failure> {
    let stopwatch = Stopwatch::start();
    let mut is_connected = true;
    loop {
        for _ in 0..interrupts() {
            if watcher.leaves_on_interrupt(view) {
                return Ok(End::Left);
            }
        }
        match follow.next(FRAME_TIME)? {
            Step::Event(mut followed) => {
                if !watcher.concerns(&mut followed.envelope) {
                    continue;
                }
                view.show(&followed)?;
                if watcher.is_over(&followed.envelope) {
                    return Ok(End::Over);
                }
            }
            Step::Quiet => {
                view.tick(&stopwatch, is_connected);
                watcher.pause(view);
            }
            Step::Lost => {
                is_connected = false;
                view.note("! the connection to the daemon is lost; waiting for it to come back");
            }
            Step::Back { started } => {
                let lost_before = !std::mem::replace(&mut is_connected, true);
                match (lost_before, started) {
                    (true, true) => view.note("! started the daemon again; following on"),
                    (true, false) => view.note("! connected again; following on"),
                    (false, _) => {}
                }
            }
        }
    }
}
