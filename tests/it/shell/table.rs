//! The table of commands: written from the specification by somebody who had not seen the judge.

use std::collections::BTreeSet;

use subagentd::{
    protocol::{CommandWord, ResourceAccess},
    shell::ShellAnalysis,
};

use super::scene::{Row, judged, rows};

/// Fewer rows than this are not the table.
const LEAST_ROWS: usize = 450;

#[test]
fn every_row_of_the_table_is_judged_as_it_says() {
    let rows = rows();
    assert!(rows.len() >= LEAST_ROWS, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let reading = judged(&row.command);
        let problems = problems(row, &reading);
        if !problems.is_empty() {
            wrong.push(format!("{:?}\n  {}\n  row: {}", row.command, problems.join("\n  "), row.why));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

fn problems(row: &Row, reading: &ShellAnalysis) -> Vec<String> {
    let mut problems = Vec::new();
    for part in &row.parts {
        if !reading.commands.iter().any(|command| is_part(&command.words, part)) {
            let found: Vec<Vec<&str>> = reading
                .commands
                .iter()
                .map(|command| command.words.iter().map(CommandWord::text).collect())
                .collect();
            problems.push(format!("{part:?} is not among {found:?}"));
        }
    }
    let (writes, reads) = files(reading);
    for (what, found, expected) in [("writes", writes, &row.writes), ("reads", reads, &row.reads)] {
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        if found != expected {
            problems.push(format!("{what} {found:?}, not {expected:?}"));
        }
    }
    if reading.risk.as_str() != row.risk {
        problems.push(format!("risk {}, not {}: {:?}", reading.risk.as_str(), row.risk, reading.findings));
    }
    if reading.unknown.is_some() != row.asks {
        problems.push(format!("asks {:?}, not {}", reading.unknown, row.asks));
    }
    problems
}

/// `?` stands for a word that nobody can know. `{}`, which `find` and `xargs` replace, is one that is shown as it is written.
fn is_part(words: &[CommandWord], part: &[String]) -> bool {
    words.len() == part.len()
        && words.iter().zip(part).all(|(word, expected)| match word {
            CommandWord::Known(text) => text == expected,
            CommandWord::Unknown(written) => {
                expected == "?" || (expected.contains("{}") && written == expected)
            }
        })
}

/// Written and read paths, `?` for those that nobody can know.
fn files(reading: &ShellAnalysis) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut writes, mut reads) = (BTreeSet::new(), BTreeSet::new());
    for access in &reading.accesses {
        match access {
            ResourceAccess::Write { path } => writes.insert(path.to_str().unwrap().to_owned()),
            ResourceAccess::Read { path } => reads.insert(path.to_str().unwrap().to_owned()),
            ResourceAccess::Opaque { what } if what.starts_with("writes") => writes.insert("?".to_owned()),
            ResourceAccess::Opaque { what } if what.starts_with("reads") => reads.insert("?".to_owned()),
            other => panic!("{other:?}"),
        };
    }
    (writes, reads)
}
