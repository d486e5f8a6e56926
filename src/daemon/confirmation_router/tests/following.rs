//! Does the desk keep up with the log, the clients and the clock?

use super::*;
use protocol::ConfirmationEdited;

async fn open_store(folder: &Path, clock: &Arc<dyn Clock>) -> (EventStore, TaskGroup) {
    let tracker = TaskGroup::new();
    (EventStore::open(folder, &tracker, Arc::clone(clock)).await.unwrap(), tracker)
}

fn event(body: impl Into<EventBody>) -> NewEvent {
    NewEvent {
        at: START,
        session: Some("s".into()),
        run: Some("r".into()),
        context: None,
        head: EventHead::default(),
        body: body.into(),
        private: PrivateEventFields::default(),
    }
}

fn requested(subject: Confirmation) -> NewEvent {
    event(ConfirmationRequested { confirmation: Box::new(subject) })
}

fn resolved(id: &str) -> NewEvent {
    let resolution = Resolution {
        outcome: ConfirmationOutcome::Deny,
        by: DecidedBy::Client,
        name: None,
        message: None,
        rule: None,
        allows: None,
        mode: None,
        digest: "sha256:00".to_owned(),
        answer_digest: None,
        at: Some(START),
    };
    let (confirmation_id, tool_call_id) = (id.into(), Some("k".into()));
    event(ConfirmationResolved { confirmation_id, tool_call_id, resolution, difference: None, edited: None })
}

/// A desk whose runs do nothing but tell what is asked of them.
struct Bench {
    clock: Arc<ManualClock>,
    store: EventStore,
    tracker: TaskGroup,
    deeds: mpsc::Receiver<String>,
    desk: ConfirmationRouter,
    stop: CancellationToken,
    tasks: TaskGroup,
    _folder: tempfile::TempDir,
}

impl Bench {
    async fn new(log: Vec<NewEvent>, late: Duration) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::starting_at(START);
        clock.advance(late);
        let given: Arc<dyn Clock> = clock.clone();
        let (store, tracker) = open_store(folder.path(), &given).await;
        if !log.is_empty() {
            store.append(log).await.unwrap();
        }
        let (desk, follower) = ConfirmationRouter::open(&store, &Arc::default(), &given).await.unwrap();
        let (sender, deeds) = mpsc::channel(16);
        let told = sender.clone();
        let ways = RouterPorts {
            settle: Box::new(move |_, id, how| {
                let sender = sender.clone();
                Box::pin(async move {
                    sender.send(format!("{id} {}", brief(&RouterAction::Settle(how)))).await.unwrap();
                    Ok(None)
                })
            }),
            tell_after: Box::new(|| Some(Duration::from_secs(100))),
            tell: Box::new(move |id| {
                let told = told.clone();
                Box::pin(async move { told.send(format!("{id} told")).await.unwrap() })
            }),
            note: Box::new(|_| Box::pin(async { Ok(()) })),
        };
        let (stop, tasks) = (CancellationToken::new(), TaskGroup::new());
        desk.clone().keep(follower, ways, &tasks, &stop);
        Bench { clock, store, tracker, deeds, desk, stop, tasks, _folder: folder }
    }

    async fn next(&mut self) -> String {
        timeout(STUCK, self.deeds.recv()).await.expect("nothing is done").unwrap()
    }

    /// Waits until the desk knows what is in the log.
    async fn known(&self) {
        let knowing = async {
            while self.desk.board().is_open(&"no question".into(), self.store.head()) {
                tokio::task::yield_now().await;
            }
        };
        timeout(STUCK, knowing).await.expect("the desk does not read");
    }

    async fn end(mut self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(STUCK, self.tasks.wait()).await.expect("the desk does not end");
        assert!(self.deeds.try_recv().is_err(), "nothing more was done");
        self.store.close().await;
        drop((self.store, self.desk));
        self.tracker.close();
        timeout(STUCK, self.tracker.wait()).await.expect("the writer does not end");
    }
}

#[tokio::test]
async fn what_was_asked_before_a_restart_is_asked_again_and_clients_have_time_to_return() {
    let overdue = |id: &str| {
        let id = id.to_owned();
        requested(subject(|it| {
            it.confirmation_id = id.into();
            it.deadline_at = Some(START.plus(Duration::from_secs(60)));
        }))
    };
    let log = vec![overdue("answered"), overdue("open"), resolved("answered")];
    // The deadline passed while no daemon ran.
    let mut bench = Bench::new(log, Duration::from_secs(600)).await;
    bench.known().await;
    assert!(bench.desk.board().is_open(&"open".into(), EventSeq(0)));
    assert!(!bench.desk.board().is_open(&"answered".into(), EventSeq(0)));
    bench.clock.advance(Duration::from_millis(2_999));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert!(bench.deeds.try_recv().is_err());
    bench.clock.advance(Duration::from_millis(1));
    assert_eq!(bench.next().await, "open deny by Deadline");
    bench.end().await;
}

#[tokio::test]
async fn the_desk_learns_from_the_log_what_is_asked_and_what_is_over() {
    let mut bench = Bench::new(Vec::new(), Duration::ZERO).await;
    let at_once = subject(|it| {
        it.confirmation_id = "at-once".into();
        (it.headless, it.on_detached) = (true, OnDetached::Deny);
    });
    bench.store.append(vec![requested(at_once), requested(subject(|_| ()))]).await.unwrap();
    assert_eq!(bench.next().await, "at-once deny by System");
    bench.store.append(vec![resolved("at-once")]).await.unwrap();
    bench.known().await;
    // Told of the one that waits, and again when it is another one.
    bench.clock.advance(Duration::from_secs(100));
    assert_eq!(bench.next().await, "q told");
    let revised = subject(|it| it.digest = "sha256:01".to_owned());
    let revised = ConfirmationRevised {
        confirmation: Box::new(revised),
        reason: RevisionReason::Changed,
        difference: None,
        edited: None,
        arguments: None,
    };
    bench.store.append(vec![event(revised)]).await.unwrap();
    assert_eq!(bench.next().await, "q told");
    bench.store.append(vec![resolved("q")]).await.unwrap();
    bench.known().await;
    bench.end().await;
}

#[tokio::test]
async fn nothing_is_decided_once_the_daemon_stops() {
    let mut bench = Bench::new(Vec::new(), Duration::ZERO).await;
    bench.store.append(vec![requested(subject(|it| it.on_detached = OnDetached::Deny))]).await.unwrap();
    bench.known().await;
    bench.stop.cancel();
    // Both are ready at once: the time in which somebody could return is over, and the daemon stops.
    bench.clock.advance(Duration::from_secs(99));
    bench.tasks.close();
    timeout(STUCK, bench.tasks.wait()).await.expect("the desk does not end");
    assert!(bench.deeds.try_recv().is_err());
    bench.end().await;
}

fn edited() -> NewEvent {
    event(ConfirmationEdited {
        confirmation_id: "q".into(),
        tool_call_id: "k".into(),
        digest: "sha256:00".to_owned(),
        edited: serde_json::json!({}),
        redacted: false,
        name: Some("ada@pts/3-3fa91c02".to_owned()),
        message: None,
        answer_digest: None,
    })
}

/// Somebody has answered it, whoever has gone and however long hooks take. Where nothing comes of that, it is as open as before.
#[tokio::test]
async fn a_question_that_a_change_has_answered_is_settled_by_no_deadline_and_no_absence() {
    let asked = subject(|it| {
        it.on_detached = OnDetached::Deny;
        it.deadline_at = Some(START.plus(Duration::from_secs(5)));
    });
    let revised = |why| {
        let confirmation = Box::new(asked.clone());
        event(ConfirmationRevised {
            confirmation,
            reason: why,
            difference: None,
            edited: None,
            arguments: None,
        })
    };
    let log = vec![requested(asked.clone()), edited(), revised(RevisionReason::Deadline)];
    let mut bench = Bench::new(log, Duration::from_secs(600)).await;
    bench.known().await;
    bench.clock.advance(Duration::from_secs(600));
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    assert!(bench.deeds.try_recv().is_err());
    let claim = bench.desk.board().reader(&"q".into()).unwrap();
    assert_eq!((claim.answered, claim.client_id), (true, Some("ada@pts/3-3fa91c02".into())));
    bench.store.append(vec![revised(RevisionReason::EditDropped)]).await.unwrap();
    assert_eq!(bench.next().await, "q deny by System");
    assert_eq!(bench.desk.board().reader(&"q".into()), None);
    bench.end().await;
}
