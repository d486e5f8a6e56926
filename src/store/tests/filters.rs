//! Do memory and database mean the same by a filter, also of runs that begin later?

use super::{projections::child, *};

/// Two sessions. In `s`: `r`, below it `k`, below that `g`; beside it `q`. In `t`: `x`.
async fn write(store: &EventStore) {
    let of_t = |event: NewEvent| NewEvent { session: Some(SessionId::from("t")), ..event };
    let other = RunStarted { context_id: ContextId::from("d"), ..started() };
    let ticked = |run: &str, parent: &str| NewEvent {
        head: EventHead { parent_run_id: Some(RunId::from(parent)), ..EventHead::default() },
        ..tick(run)
    };
    let log = vec![
        session(),
        of_t(session()),
        event("r", started()),
        event("q", started()),
        of_t(event("x", other)),
        tick("q"),
        child("k", "r"),
        of_t(tick("x")),
        child("g", "k"),
        tick("r"),
        ticked("g", "k"),
        ticked("k", "r"),
        NewEvent { body: completed().into(), ..ticked("g", "k") },
        NewEvent { body: completed().into(), ..ticked("k", "r") },
        tick("q"),
        event("r", completed()),
    ];
    // Each by itself, so that what begins later is later.
    for event in log {
        store.append(vec![event]).await.unwrap();
    }
}

/// What `write` wrote: session, run, type.
const LOG: &[(&str, &str, &str)] = &[
    ("s", "", "session.created"),
    ("t", "", "session.created"),
    ("s", "r", "run.started"),
    ("s", "q", "run.started"),
    ("t", "x", "run.started"),
    ("s", "q", "run.resumed"),
    ("s", "k", "run.started"),
    ("t", "x", "run.resumed"),
    ("s", "g", "run.started"),
    ("s", "r", "run.resumed"),
    ("s", "g", "run.resumed"),
    ("s", "k", "run.resumed"),
    ("s", "g", "run.completed"),
    ("s", "k", "run.completed"),
    ("s", "q", "run.resumed"),
    ("s", "r", "run.completed"),
];

fn filters() -> Vec<LogFilter> {
    let mut filters = Vec::new();
    for sessions in [&[][..], &["s"], &["t"], &["s", "t"], &["none"]] {
        for runs in [&[][..], &["r"], &["k"], &["q", "x"], &["g", "r"], &["none"], &["none", "k"]] {
            for descendants in [false, true] {
                for types in [
                    &[][..],
                    &["run.completed"],
                    &["run.c*", "session.*"],
                    &["*"],
                    &["run.resumed", "turn.*"],
                ] {
                    filters.push(LogFilter {
                        sessions: sessions.iter().map(|it| SessionId::from(*it)).collect(),
                        runs: runs.iter().map(|it| RunId::from(*it)).collect(),
                        descendants,
                        types: types.iter().map(|it| (*it).to_owned()).collect(),
                    });
                }
            }
        }
    }
    filters
}

/// The `seq`s that match, computed from what the fields promise.
fn expected(filter: &LogFilter, after: i64) -> Vec<i64> {
    let below = |run: &str| match run {
        "r" => vec!["r", "k", "g"],
        "k" => vec!["k", "g"],
        run => vec![run]
            .into_iter()
            .filter(|run| *run != "none")
            .map(|run| LOG.iter().find(|it| it.1 == run).unwrap().1)
            .collect(),
    };
    let named = |run: &str| match filter.descendants {
        true => filter.runs.iter().any(|it| below(it.as_str()).contains(&run)),
        false => filter.runs.iter().any(|it| it.as_str() == run),
    };
    let type_fits = |pattern: &String, kind: &str| match pattern.split_once('*') {
        Some((beginning, _)) => kind.starts_with(beginning),
        None => pattern == kind,
    };
    let matches = |(session, run, kind): &(&str, &str, &str)| {
        (filter.sessions.is_empty() || filter.sessions.iter().any(|it| it.as_str() == *session))
            && (filter.runs.is_empty() || named(run))
            && (filter.types.is_empty() || filter.types.iter().any(|it| type_fits(it, kind)))
    };
    let numbered = LOG.iter().zip(1..).filter(|(event, seq)| after < *seq && matches(event));
    numbered.map(|(_, seq)| seq).collect()
}

fn seqs(events: &[Arc<StoredEvent>]) -> Vec<i64> {
    events.iter().map(|event| event.seq.0).collect()
}

/// All that a follower has to say now.
async fn all_of(follower: &mut Follower) -> Vec<i64> {
    let mut seen = Vec::new();
    loop {
        let events = follower.poll().await.unwrap();
        if events.is_empty() {
            return seen;
        }
        seen.extend(seqs(&events));
    }
}

#[tokio::test]
async fn memory_and_database_mean_the_same_by_every_filter() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    write(&store).await;
    // The same log, of which nothing is in memory.
    close(store.clone(), tracker).await;
    drop(store);
    let (cold, cold_tracker) = open(dir.path()).await;
    let warm_dir = tempfile::tempdir().unwrap();
    let (warm, warm_tracker) = open(warm_dir.path()).await;
    write(&warm).await;
    let mut tried = 0;
    for filter in filters() {
        for after in [0, 5, 9, 16] {
            let expected = expected(&filter, after);
            for (store, name) in [(&cold, "database"), (&warm, "memory")] {
                let seen = all_of(&mut store.follow(filter.clone(), EventSeq(after))).await;
                assert_eq!(seen, expected, "{name}: {filter:?} after {after}");
            }
            let mut paged = Vec::new();
            loop {
                let from = paged.last().copied().unwrap_or(after);
                let page = cold.page(&filter, EventSeq(from), 2).await.unwrap();
                paged.extend(seqs(&page.events));
                if page.events.is_empty() {
                    break;
                }
            }
            assert_eq!(paged, expected, "pages: {filter:?} after {after}");
            tried += 1;
        }
    }
    assert_eq!(tried, 4 * 5 * 7 * 2 * 5);
    close(cold, cold_tracker).await;
    close(warm, warm_tracker).await;
}

/// A follower that reads the database finds the runs below, goes over to memory, and is woken for what comes.
#[tokio::test]
async fn runs_below_that_begin_later_are_followed_whatever_their_beginning_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    store.append(vec![session(), event("r", started()), child("k", "r")]).await.unwrap();
    close(store, tracker).await;
    let (store, tracker) = open(dir.path()).await;
    let ends = LogFilter {
        types: vec!["run.completed".to_owned()],
        descendants: true,
        ..LogFilter::run(RunId::from("r"))
    };
    let mut follower = store.follow(ends, EventSeq(0));
    assert_eq!(all_of(&mut follower).await, Vec::<i64>::new());
    let end_of = |run: &str, parent: &str| NewEvent {
        head: EventHead { parent_run_id: Some(RunId::from(parent)), ..EventHead::default() },
        ..event(run, completed())
    };
    // One that was there before, two that begin below it and each other, one that has nothing to do with them.
    let begin = vec![child("g", "k"), event("q", started()), event("q", completed()), child("h", "g")];
    store.append(begin).await.unwrap();
    store.append(vec![end_of("h", "g"), end_of("g", "k"), end_of("k", "r")]).await.unwrap();
    let seen = timeout(STUCK, follower.next()).await.expect("nobody woke it").unwrap();
    let runs: Vec<&str> = seen.iter().map(|event| event.run.as_ref().unwrap().as_str()).collect();
    assert_eq!(runs, ["h", "g", "k"]);
    drop((seen, follower));
    close(store, tracker).await;
}

#[tokio::test]
async fn follower_of_a_run_and_those_below_it_sleeps_while_other_sessions_work() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    write(&store).await;
    let family = LogFilter { descendants: true, ..LogFilter::run(RunId::from("r")) };
    let mut follower = store.follow(family, EventSeq(16));
    assert_eq!(all_of(&mut follower).await, Vec::<i64>::new());
    // What woke it so far.
    let _before = futures_util::FutureExt::now_or_never(follower.wait());
    let elsewhere = NewEvent { session: Some(SessionId::from("t")), ..tick("x") };
    store.append(vec![elsewhere]).await.unwrap();
    assert!(futures_util::FutureExt::now_or_never(follower.wait()).is_none());
    store.append(vec![tick("r")]).await.unwrap();
    assert!(futures_util::FutureExt::now_or_never(follower.wait()).is_some());
    drop(follower);
    close(store, tracker).await;
}
