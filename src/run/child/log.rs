//! What does the log tell of a run that answers a call: what it thinks about, and how it ends?

use super::settle;
use crate::machine::MachineInput;
use protocol::{AgentName, CallId, EventBody, EventSeq, RunCompleted, RunId, UsageTotal};
use store::{EventStore, Follower, LiveAppender, LogFilter, StoreError, StoredEvent};
use tools::OutputLimits;

/// Bytes of a call's output, which the event that ends the call has whole: some thousand subjects, more than a person
/// follows. What is beyond is left out and counted.
const MAX_OUTPUT_BYTES: usize = 256 << 10;

/// Follows a run from its beginning. The log tells, so that it does not matter which process started the run, and the
/// same text comes out whoever asks, and when.
pub struct ChildLog {
    store: EventStore,
    run: RunId,
    events: Follower,
    subjects: ThoughtSubjects,
    /// True if it does nothing but wait for a person.
    waits: bool,
    /// What was last said of that.
    said: Option<bool>,
    /// By it and those below it.
    spent: UsageTotal,
    /// What was last said of that.
    said_spent: UsageTotal,
}

/// What a run tells the one that called it.
pub enum ChildNews {
    /// Whether it does nothing but wait for a person.
    Waits(bool),
    /// All that it and those below it used so far.
    Spent(UsageTotal),
    Ended(Box<ChildCompletion>),
}

/// How a run ended that answers a call.
pub struct ChildCompletion {
    run: RunId,
    agent: AgentName,
    end: RunCompleted,
    /// What the call put out meanwhile.
    output: Option<String>,
}

impl ChildLog {
    pub fn of(store: &EventStore, run: &RunId) -> ChildLog {
        let types = [
            "thought",
            "model.completed",
            "sideCall.completed",
            "model.retrying",
            "run.waiting",
            "run.resumed",
            "run.completed",
        ];
        let types = types.map(str::to_owned).to_vec();
        // What runs below it spend is spent by it.
        let filter = LogFilter { types, descendants: true, ..LogFilter::run(run.clone()) };
        ChildLog {
            events: store.follow(filter, EventSeq(0)),
            store: store.clone(),
            run: run.clone(),
            subjects: ThoughtSubjects::default(),
            waits: false,
            said: None,
            spent: UsageTotal::default(),
            said_spent: UsageTotal::default(),
        }
    }

    /// Waits for the run's end; meanwhile `output` gets what the call puts out. Cancel safe. After an error the log is
    /// read from the run's beginning again.
    pub async fn end(&mut self, output: Option<&LiveAppender>) -> Result<ChildCompletion, StoreError> {
        loop {
            if let ChildNews::Ended(end) = self.next(output).await? {
                return Ok(*end);
            }
        }
    }

    /// As [`ChildLog::end`]; on the way it tells whether the run does nothing but wait for a person: first when some of
    /// its log is read, then when that changes; and what is spent.
    pub async fn next(&mut self, output: Option<&LiveAppender>) -> Result<ChildNews, StoreError> {
        loop {
            // Of two news the second comes before anything that happens later.
            if self.said.is_some() && self.said_spent != self.spent {
                self.said_spent = self.spent;
                return Ok(ChildNews::Spent(self.spent));
            }
            let events = self.events.next().await?;
            let end = match self.take(&events) {
                Ok(end) => end,
                Err(error) => {
                    *self = ChildLog::of(&self.store, &self.run);
                    return Err(error);
                }
            };
            if let Some(output) = output
                && let Err(error) = output.grow_to(&self.subjects.text)
            {
                // Cannot be: a call's output is bounded far below. It would be whole where the call ends.
                tracing::error!(run = %self.run, ?error, "a call's output does not fit an open text");
            }
            if let Some(end) = end {
                return Ok(ChildNews::Ended(Box::new(end)));
            }
            if self.said != Some(self.waits) {
                self.said = Some(self.waits);
                return Ok(ChildNews::Waits(self.waits));
            }
        }
    }

    fn take(
        &mut self,
        events: &[std::sync::Arc<StoredEvent>],
    ) -> Result<Option<ChildCompletion>, StoreError> {
        for event in events {
            let is_own = event.run.as_ref() == Some(&self.run);
            match event.parse() {
                Ok(Some(EventBody::ModelCompleted(data))) => {
                    self.spent += data.spent();
                }
                Ok(Some(EventBody::SideCallCompleted(data))) => {
                    self.spent += data.spent();
                }
                Ok(Some(EventBody::ModelRetrying(data))) => self.spent += data.spent(),
                _ if !is_own => (),
                Ok(Some(EventBody::ModelThought(thought))) => self.subjects.add(&thought.subject),
                Ok(Some(EventBody::RunWaiting(data))) => self.waits = data.waiting,
                // It says anew whether it waits.
                Ok(Some(EventBody::RunResumed(_))) => self.waits = false,
                Ok(Some(EventBody::RunCompleted(end))) => {
                    self.subjects.close(&self.run);
                    let output = Some(self.subjects.text.clone()).filter(|text| !text.is_empty());
                    return Ok(Some(ChildCompletion {
                        run: self.run.clone(),
                        agent: event.agent()?,
                        end,
                        output,
                    }));
                }
                Ok(_) => (),
                // The call waits for the end, not for what is said on the way to it.
                Err(error) if &*event.kind == "thought" => {
                    tracing::warn!(run = %self.run, %error, "a thought is missing from a call's output");
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl ChildCompletion {
    /// The reason why the run ended, in the wire's spelling.
    pub fn reason(&self) -> &'static str {
        self.end.reason.as_str()
    }

    /// Becomes the result of the call that the run answered.
    pub fn settled(self, call: CallId, limits: OutputLimits) -> MachineInput {
        let ChildCompletion { run, agent, end, output } = self;
        MachineInput::ChildSettled {
            call,
            result: settle(&agent, &run, &end, limits),
            spent: end.spent(),
            output,
        }
    }
}

/// The subjects of a run's thoughts, a line each: what a client sees that shows tool calls only (spec 03, "Subagent
/// calls").
#[derive(Default)]
struct ThoughtSubjects {
    text: String,
    n_added: usize,
    n_left_out: usize,
}

impl ThoughtSubjects {
    fn add(&mut self, subject: &str) {
        if subject.is_empty() {
            return;
        }
        self.n_added += 1;
        let is_full = MAX_OUTPUT_BYTES <= self.text.len() + subject.len();
        // After the first that is left out all are, so that the text has no holes.
        if is_full || self.n_left_out != 0 {
            self.n_left_out += 1;
            return;
        }
        self.text.push_str(subject);
        self.text.push('\n');
    }

    /// The run is over.
    fn close(&mut self, run: &RunId) {
        let ThoughtSubjects { n_added, n_left_out, .. } = *self;
        if n_left_out != 0 {
            let left_out = format!("[… {n_left_out} of {n_added} thoughts left out; run {run} has them …]\n");
            self.text.push_str(&left_out);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use protocol::{EventHead, ParkReason, PrivateEventFields, RunParked, RunResumed, RunWaiting, Timestamp};
    use store::NewEvent;
    use sys::{clock::ManualClock, tasks::TaskGroup};

    fn event(body: impl Into<EventBody>) -> NewEvent {
        NewEvent {
            at: Timestamp(0),
            session: Some("s".into()),
            run: Some("r".into()),
            context: None,
            head: EventHead::default(),
            body: body.into(),
            private: PrivateEventFields::default(),
        }
    }

    #[tokio::test]
    async fn a_run_that_goes_on_after_it_was_parked_waits_no_more() {
        let (folder, tracker) = (tempfile::tempdir().unwrap(), TaskGroup::new());
        let clock = ManualClock::starting_at(Timestamp(0));
        let store = EventStore::open(folder.path(), &tracker, clock).await.unwrap();
        let mut log = ChildLog::of(&store, &"r".into());
        let parked = event(RunParked { reason: ParkReason::Unattended });
        let steps = [
            (vec![event(RunWaiting { waiting: true }), parked], true),
            (vec![event(RunResumed::default())], false),
            (vec![event(RunWaiting { waiting: true })], true),
        ];
        for (events, waits) in steps {
            store.append(events).await.unwrap();
            let news = tokio::time::timeout(Duration::from_secs(20), log.next(None)).await;
            let is_said = matches!(news, Ok(Ok(ChildNews::Waits(said))) if said == waits);
            assert!(is_said, "{waits} is not said");
        }
        drop(log);
        store.close().await;
        tracker.close();
        tracker.wait().await;
    }

    #[test]
    fn subjects_beyond_the_limit_are_counted() {
        let mut subjects = ThoughtSubjects::default();
        let long = "ä".repeat(MAX_OUTPUT_BYTES / 4);
        for subject in ["first", "", &long, &long, "second"] {
            subjects.add(subject);
        }
        subjects.close(&RunId::from("r"));
        assert!(subjects.text.len() < MAX_OUTPUT_BYTES + 100);
        let lines: Vec<&str> = subjects.text.lines().collect();
        let left_out = "[… 2 of 4 thoughts left out; run r has them …]";
        assert!(lines == ["first", &long, left_out], "{:?}", lines.last());
    }

    #[test]
    fn few_subjects_stand_as_they_are() {
        let mut subjects = ThoughtSubjects::default();
        subjects.add("first");
        subjects.add("second");
        subjects.close(&RunId::from("r"));
        assert_eq!(subjects.text, "first\nsecond\n");
    }
}
