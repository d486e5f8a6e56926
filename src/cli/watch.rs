//! How is a session watched: events shown as they come, connection kept, Ctrl-C heard?

use std::time::Duration;

use super::{
    OutputWriter,
    asking::{InlineConfirmations, KEY_PAUSE, QuestionContext},
    failure::CommandFailure,
    interrupts::InterruptWatch,
    link::DaemonLink,
    progress::ProgressState,
    screen::{FRAME_TIME, ProgressScreen},
    span_blocks::{self, EndedSpans},
};
use client::{FollowStep, MonotonicStopwatch, SessionFollower};
use protocol::Envelope;

/// What becomes of the events.
pub(super) enum EventOutput<'output> {
    /// Lines, text and a spinner for people.
    Progress { progress: Box<ProgressState>, screen: ProgressScreen<'output> },
    /// A block for each span, once it has ended; with `json` one object a line goes there instead.
    Spans { spans: Box<EndedSpans>, screen: ProgressScreen<'output>, json: Option<&'output mut OutputWriter> },
    /// The envelopes as they came, one a line; notes for people go to `screen`.
    Envelopes { stdout: &'output mut OutputWriter, screen: ProgressScreen<'output> },
}

impl<'output> EventOutput<'output> {
    /// `me` is the client that can be asked here, if somebody can.
    pub(super) fn progress(stderr: &'output mut OutputWriter, me: Option<String>) -> EventOutput<'output> {
        EventOutput::Progress {
            progress: Box::new(ProgressState::shown_to(me)),
            screen: ProgressScreen::new(stderr),
        }
    }

    /// Spans as blocks.
    pub(super) fn spans(output: &'output mut OutputWriter) -> EventOutput<'output> {
        EventOutput::Spans { spans: Box::default(), screen: ProgressScreen::new(output), json: None }
    }

    /// Spans as JSON, one a line; notes for people go to `stderr`.
    pub(super) fn spans_as_json(
        stdout: &'output mut OutputWriter,
        stderr: &'output mut OutputWriter,
    ) -> EventOutput<'output> {
        EventOutput::Spans { spans: Box::default(), screen: ProgressScreen::new(stderr), json: Some(stdout) }
    }

    pub(super) fn envelopes(
        stdout: &'output mut OutputWriter,
        stderr: &'output mut OutputWriter,
    ) -> EventOutput<'output> {
        EventOutput::Envelopes { stdout, screen: ProgressScreen::new(stderr) }
    }

    /// Whether text is shown while it is being written.
    pub(super) fn wants_deltas(&self) -> bool {
        match self {
            EventOutput::Progress { screen, .. } => screen.is_live(),
            EventOutput::Spans { .. } => false,
            EventOutput::Envelopes { .. } => true,
        }
    }

    /// A line for the person that is no event.
    pub(super) fn note(&mut self, text: &str) {
        self.screen().sentence_now(text);
    }

    fn screen(&mut self) -> &mut ProgressScreen<'output> {
        let (EventOutput::Progress { screen, .. }
        | EventOutput::Spans { screen, .. }
        | EventOutput::Envelopes { screen, .. }) = self;
        screen
    }

    fn show(&mut self, step: &client::FollowedEvent) -> Result<(), CommandFailure> {
        match self {
            EventOutput::Progress { progress, screen } => {
                progress.show(&step.envelope, screen);
                Ok(())
            }
            EventOutput::Spans { spans, screen, json: None } => {
                spans.of(&step.envelope).iter().for_each(|span| span_blocks::show(span, screen));
                Ok(())
            }
            EventOutput::Spans { spans, json: Some(stdout), .. } => {
                let mut ended = spans.of(&step.envelope).into_iter();
                // It has texts and numbers only, which always can be written.
                ended
                    .try_for_each(|span| stdout.write_json(&serde_json::to_string(&span).unwrap_or_default()))
            }
            EventOutput::Envelopes { stdout, .. } => stdout.write_json(step.raw.get()),
        }
    }

    fn tick(
        &mut self,
        stopwatch: &MonotonicStopwatch,
        is_connected: bool,
        resting: Option<(String, Duration)>,
    ) {
        if let EventOutput::Progress { progress, screen } = self {
            let (activity, elapsed) = match (is_connected, resting) {
                (false, _) => ("waiting for the daemon to come back".into(), stopwatch.elapsed()),
                (true, Some(resting)) if !progress.has_questions() => resting,
                (true, _) => (progress.activity(), stopwatch.elapsed()),
            };
            screen.status(&activity, elapsed);
        }
    }
}

/// What a command wants from watching.
pub(super) trait SessionEventWatcher {
    /// Whether the event is to be shown at all; what is not wanted of a snapshot may be taken out.
    fn concerns(&mut self, envelope: &mut Envelope) -> bool;
    /// After each event was shown: whether that is all.
    fn is_over(&mut self, envelope: &Envelope) -> bool;
    /// Ctrl-C: whether to leave.
    fn leaves_on_interrupt(&mut self, view: &mut EventOutput<'_>, link: &mut DaemonLink) -> bool;
    /// Between events, several times a second.
    fn pause(&mut self, _view: &mut EventOutput<'_>, _link: &mut DaemonLink) {}
    /// What the status says while no question is open, and since when, where it is not what runs do.
    fn resting(&self) -> Option<(String, Duration)> {
        None
    }
    /// After each pause: whether what was waited for came by another way than events.
    fn is_done(&mut self) -> bool {
        false
    }
}

/// Why watching ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WatchEnd {
    Over,
    Left,
}

/// What became of the daemon, and of the question that stood there.
fn what_was_lost(was_stopped: bool, had_question: bool) -> &'static str {
    match (was_stopped, had_question) {
        (true, true) => {
            "! the daemon was stopped; the question stays open and is asked again once it runs: `subagent runs` starts it, \
             Ctrl-C leaves"
        }
        (true, false) => {
            "! the daemon was stopped; what it did goes on once it runs: `subagent runs` starts it, Ctrl-C leaves"
        }
        (false, true) => {
            "! the connection to the daemon is lost; the question stays open and is asked again when it is back"
        }
        (false, false) => "! the connection to the daemon is lost; waiting for it to come back",
    }
}

/// Shows what happens until the watcher has seen enough or the person leaves. With `asking`, questions are put to them
/// in between.
pub(super) fn watch(
    follow: &mut SessionFollower<'_>,
    view: &mut EventOutput<'_>,
    interrupts: &mut dyn FnMut() -> u32,
    link: &mut DaemonLink,
    mut asking: Option<InlineConfirmations<'_>>,
    watcher: &mut dyn SessionEventWatcher,
) -> Result<WatchEnd, CommandFailure> {
    let stopwatch = MonotonicStopwatch::start();
    let mut interrupted = InterruptWatch::new(interrupts);
    let mut is_connected = true;
    loop {
        for _ in 0..interrupted.take() {
            if watcher.leaves_on_interrupt(view, link) {
                return Ok(WatchEnd::Left);
            }
        }
        let is_asking = asking.as_ref().is_some_and(InlineConfirmations::is_asking);
        match follow.next(if is_asking { KEY_PAUSE } else { FRAME_TIME })? {
            FollowStep::Event(mut followed) => {
                if !watcher.concerns(&mut followed.envelope) {
                    continue;
                }
                view.show(&followed)?;
                if let Some(asking) = &mut asking {
                    let screen = view.screen();
                    asking.learn(
                        &followed.envelope,
                        &mut QuestionContext { link, screen, interrupted: &mut interrupted },
                    );
                }
                if watcher.is_over(&followed.envelope) {
                    return Ok(WatchEnd::Over);
                }
            }
            FollowStep::Quiet => {
                view.tick(&stopwatch, is_connected, watcher.resting());
                watcher.pause(view, link);
                if watcher.is_done() {
                    return Ok(WatchEnd::Over);
                }
                if let Some(asking) = asking.as_mut().filter(|_| is_connected) {
                    asking.is_quiet();
                }
            }
            FollowStep::Lost => {
                is_connected = false;
                let had_question = asking.as_mut().is_some_and(|asking| {
                    let screen = view.screen();
                    asking.lose_daemon(&mut QuestionContext { link, screen, interrupted: &mut interrupted })
                });
                view.note(what_was_lost(link.dialer().was_stopped(), had_question));
            }
            FollowStep::Back { started } => {
                let lost_before = !std::mem::replace(&mut is_connected, true);
                match (lost_before, started) {
                    (true, true) => view.note("! started the daemon again; following on"),
                    (true, false) => view.note("! connected again; following on"),
                    (false, _) => {}
                }
            }
        }
        if let Some(asking) = &mut asking {
            let screen = view.screen();
            if let Some(columns) = asking.columns() {
                screen.resize(columns);
            }
            asking.tick(&mut QuestionContext { link, screen, interrupted: &mut interrupted });
        }
    }
}
