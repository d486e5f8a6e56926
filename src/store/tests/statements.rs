//! Is every SQL text one that the migrated schema knows? All texts of the crate are found in its source and prepared.

use std::{collections::BTreeSet, fs};

use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _, SqliteConnection};

use super::*;
use crate::read::{history, people, standing};

/// How a text begins that SQLite is to carry out.
const VERBS: [&str; 7] = ["select", "insert", "update", "delete", "with", "replace", "pragma"];

/// Fewer texts than this were found by a search that has gone blind.
const FEWEST: usize = 90;

/// Texts that are put together while the daemon runs, in every shape.
fn composed() -> Vec<String> {
    let mut texts = vec![
        read::whole_context(),
        read::all_after(),
        history::messages(),
        history::turn_before(),
        history::past(),
        history::changes(),
        people::one(),
        people::open_below(),
        people::open(true),
        people::open(false),
        standing::live_runs(true),
        standing::live_runs(false),
        "pragma incremental_vacuum(1)".to_owned(),
    ];
    for used in
        [UsageOf::Run(RunId::from("r")), UsageOf::Session(SessionId::from("s")), UsageOf::Since(Timestamp(1))]
    {
        texts.push(used.text());
    }
    let (run, session) = (RunId::from("r"), SessionId::from("s"));
    for (has_run, has_session, is_so) in shapes() {
        let (of_run, of_session) = (has_run.then(|| run.clone()), has_session.then(|| session.clone()));
        texts.push(
            ConfirmationFilter { session: of_session.clone(), run: of_run.clone(), resolved: is_so }
                .list_text(),
        );
        for agent in [None, Some(AgentName::from("a"))] {
            for active in [true, false] {
                let filter = RunFilter {
                    parent: of_run.clone(),
                    session: of_session.clone(),
                    agent: agent.clone(),
                    active,
                    roots: is_so,
                    ..RunFilter::default()
                };
                texts.push(filter.list_text());
            }
        }
        for runs in [0, usize::from(has_run), 2 * usize::from(has_run)] {
            for sessions in [0, usize::from(has_session), 2 * usize::from(has_session)] {
                for types in [vec![], vec!["run.started".to_owned()], vec!["run.*".to_owned()]] {
                    let filter = LogFilter {
                        sessions: vec![session.clone(); sessions],
                        runs: vec![run.clone(); runs],
                        descendants: is_so,
                        types,
                    };
                    texts.push(filter.page_text("seq"));
                }
            }
        }
    }
    texts
}

/// Every choice of three switches.
fn shapes() -> impl Iterator<Item = (bool, bool, bool)> {
    (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0))
}

/// One blank wherever there are some.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True if a text that is put together has what stands around the `{…}` of a literal, in this order.
fn is_made_of(whole: &str, literal: &str) -> bool {
    let mut rest = whole;
    literal.split('{').enumerate().all(|(n, piece)| {
        let piece = if n == 0 { piece } else { piece.split_once('}').map_or("", |(_, piece)| piece) };
        match rest.split_once(piece.trim()) {
            Some((_, behind)) => {
                rest = behind;
                true
            }
            None => false,
        }
    })
}

/// The ordinary string literals of a Rust file, with the line that each begins on; comments and characters are passed over.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = source;
    let line_of = |rest: &str| source[..source.len() - rest.len()].lines().count().max(1);
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (token, tail) = rest[at..].split_at(1);
        rest = match token {
            "/" if tail.starts_with('/') => tail.find('\n').map_or("", |end| &tail[end..]),
            // `'"'` and `'\\''`; a lifetime has no second quote so near.
            "'" if tail.starts_with('\\') => {
                tail.get(2..).and_then(|tail| tail.split_once('\'')).map_or("", |(_, tail)| tail)
            }
            "'" => match tail.char_indices().nth(1) {
                Some((end, '\'')) => &tail[end + 1..],
                _ => tail,
            },
            "\"" => {
                let line = line_of(tail);
                let mut text = String::new();
                let mut letters = tail.char_indices();
                let mut end = tail.len();
                while let Some((at, letter)) = letters.next() {
                    match letter {
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        // A line that goes on loses its blanks; blanks are squeezed anyway.
                        '\\' => match letters.next() {
                            Some((_, '\n')) | None => {}
                            Some((_, escaped)) => text.push(escaped),
                        },
                        letter => text.push(letter),
                    }
                }
                found.push((line, text));
                &tail[end..]
            }
            _ => tail,
        };
    }
    found
}

/// Where each SQL text of the crate stands, and the text.
fn texts() -> Vec<(String, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name == "tests" || name == "tests.rs" || name == "target" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let source = fs::read_to_string(&path).unwrap();
                for (line, text) in literals(&source) {
                    let text = squeezed(&text);
                    if text.split_once(' ').is_some_and(|(verb, _)| VERBS.contains(&verb)) {
                        found.push((format!("{name}:{line}"), text));
                    }
                }
            }
        }
    }
    found
}

async fn refused(connection: &mut SqliteConnection, text: &str) -> Option<String> {
    let prepared = connection.prepare(AssertSqlSafe(text.to_owned()).into_sql_str()).await;
    prepared.err().map(|error| error.to_string())
}

#[tokio::test]
async fn every_sql_text_is_one_that_the_schema_knows() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let mut connection = store.shared.readers.acquire().await.unwrap();
    let mut wrong = BTreeSet::new();
    let composed = composed();
    for text in &composed {
        if let Some(why) = refused(&mut connection, text).await {
            wrong.insert(format!("composed: {why}\n{text}"));
        }
    }
    let composed: Vec<String> = composed.iter().map(|text| squeezed(text)).collect();
    let texts = texts();
    for (place, text) in &texts {
        let Some(why) = refused(&mut connection, text).await else { continue };
        if !composed.iter().any(|whole| is_made_of(whole, text)) {
            wrong.insert(format!("{place}: {why}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n\n"));
    assert!(texts.len() >= FEWEST, "only {} texts were found", texts.len());
    drop(connection);
    close(store, tracker).await;
}

#[tokio::test]
async fn a_text_with_a_column_that_is_not_there_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, tracker) = open(dir.path()).await;
    let mut connection = store.shared.readers.acquire().await.unwrap();
    assert!(refused(&mut connection, "select seq from events").await.is_none());
    let why = refused(&mut connection, "select sequence from events").await.unwrap();
    assert!(why.contains("no such column"), "{why}");
    drop(connection);
    close(store, tracker).await;
}

#[test]
fn texts_are_found_behind_comments_characters_and_escapes() {
    let source = "// \"no\"\nlet a = '\"'; let b: &'static str = \"select 1\";\nf(\"update\\\n   x\", '\\'', \"delete \\\"y\\\"\")";
    let found: Vec<String> = literals(source).into_iter().map(|(_, text)| squeezed(&text)).collect();
    assert_eq!(found, ["select 1", "update x", "delete \"y\""]);
}
