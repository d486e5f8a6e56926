//! Does a model get what it can take, is the rest there, and only for those it belongs to?

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::*;
use crate::tests::Bench;
use protocol::{ToolErrorType, ToolResult};

fn text(result: &ToolResult) -> String {
    result.llm_content.iter().filter_map(MessagePart::as_text).collect()
}

async fn fit(bench: &Bench, call: &str, result: ToolResult, max_chars: usize) -> ToolResult {
    let limits = OutputLimits { max_chars };
    bench.own_files.outputs().fit(result, &"s1".into(), &call.into(), limits).await
}

fn numbered(lines: usize) -> String {
    (0..lines).map(|line| format!("line {line}: é {}\n", "x".repeat(line % 50))).collect()
}

#[tokio::test]
async fn what_fits_stays_as_it_is_and_nothing_is_kept() {
    let bench = Bench::new(&[]);
    // Characters count, not bytes.
    let result = fit(&bench, "c1", ToolResult::text("é".repeat(1_000)), 1_000).await;
    assert_eq!(result, ToolResult::text("é".repeat(1_000)));
    assert!(!bench.outside().join("state").exists());
}

#[tokio::test]
async fn a_long_output_is_cut_to_head_and_tail_and_kept_whole() {
    let bench = Bench::new(&[]);
    let whole = numbered(1_000);
    for max_chars in [1_000, 3_333, 20_000] {
        let result = fit(&bench, "c1", ToolResult::text(whole.clone()), max_chars).await;
        let shown = text(&result);
        assert!(shown.chars().count() <= max_chars, "{max_chars}: {}", shown.chars().count());
        assert!(shown.starts_with("line 0: "), "{shown}");
        let (head, rest) = shown.split_once("[… ").unwrap();
        let (note, tail) = rest.split_once(" …]\n").unwrap();
        assert!(whole.starts_with(head) && whole.ends_with(tail) && !head.is_empty() && !tail.is_empty());
        let left_out = whole.chars().count() - head.chars().count() - tail.chars().count();
        assert!(note.starts_with(&format!("{left_out} of {} characters", whole.chars().count())), "{note}");
        let kept = result.full_output.unwrap();
        assert!(note.ends_with(&kept.path), "{note}");
        assert_eq!((kept.bytes, kept.total_bytes), (whole.len() as u64, whole.len() as u64));
        assert_eq!(fs::read_to_string(&kept.path).unwrap(), whole);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = Path::new(&kept.path);
        let modes: Vec<u32> = path.ancestors().take(4).map(mode).collect();
        assert_eq!(modes, [0o600, 0o700, 0o700, 0o700], "a file, its folder, its session's, all sessions'");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "a draft was left");
    }
}

#[tokio::test]
async fn reading_on_as_told_gives_the_whole_also_of_endless_lines() {
    let mut bench = Bench::new(&[]);
    bench.output.max_chars = 5_000;
    let long_line = format!("{}\n{}end", "é".repeat(2_000), "abcdefg".repeat(3_000));
    for (call, whole) in [("lines", numbered(800)), ("line", long_line), ("blank", "\n".repeat(9_000))] {
        let result = fit(&bench, call, ToolResult::text(whole.clone()), 5_000).await;
        let shown = text(&result);
        let offset = shown.split_once("offset: ").unwrap().1.split_once(' ').unwrap().0;
        let path = result.full_output.unwrap().path;
        let broken = wrapped(&whole).into_owned();
        assert_eq!(broken.replace('\n', ""), whole.replace('\n', ""));
        let mut read: String = broken.split_inclusive('\n').take(offset.parse().unwrap()).collect();
        assert!(shown.starts_with(read.lines().next().unwrap_or_default()), "{call}");
        let mut next: u64 = offset.parse().unwrap();
        loop {
            let page = bench.call("read_file", json!({"path": path, "offset": next})).await;
            assert_eq!(page.error, None, "{call}");
            let data = page.data.clone().unwrap();
            let page = text(&page);
            let (note, page) = page.split_once('\n').unwrap();
            assert!(note.starts_with('[') && !note.contains("long lines cut"), "{call}: {note}");
            read.push_str(page);
            next = data["to"].as_u64().unwrap();
            if next == data["lines"].as_u64().unwrap() {
                break;
            }
        }
        assert_eq!(read, broken, "{call}");
    }
}

#[tokio::test]
async fn images_stay_and_the_note_stands_once_between_the_texts() {
    let bench = Bench::new(&[]);
    let image = MessagePart::InlineData { mime_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let parts = vec![
        MessagePart::text("a".repeat(900)),
        image.clone(),
        MessagePart::text(""),
        MessagePart::text("b".repeat(900)),
    ];
    for split in [false, true] {
        let mut parts = parts.clone();
        if split {
            parts.insert(2, MessagePart::text("m\n".repeat(500)));
        }
        let whole = joined(&parts);
        let result = ToolResult { llm_content: parts, ..ToolResult::default() };
        let result = fit(&bench, "c1", result, 1_200).await;
        let shown = text(&result);
        assert!(
            shown.chars().count() <= 1_200 && shown.starts_with("aaa") && shown.ends_with("bbb"),
            "{shown}"
        );
        assert_eq!(shown.matches("[… ").count(), 1, "{shown}");
        assert_eq!(result.llm_content.iter().filter(|part| **part == image).count(), 1);
        assert_eq!(fs::read_to_string(result.full_output.unwrap().path).unwrap(), whole);
    }
}

#[tokio::test]
async fn a_failure_keeps_its_type_and_its_message_is_cut_as_well() {
    let bench = Bench::new(&[]);
    let failed = ToolResult::failure(ToolErrorType::NoSpaceLeft, "z".repeat(9_000));
    let result = fit(&bench, "c1", failed, 2_000).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind, ToolErrorType::NoSpaceLeft);
    assert!(error.message.len() < 2_100 && error.message.contains("of 9000 characters"), "{}", error.message);
    assert!(text(&result).starts_with("NO_SPACE_LEFT: zzz") && result.full_output.is_some());
}

#[tokio::test]
async fn what_cannot_be_kept_is_cut_all_the_same_and_the_model_is_told() {
    let bench = Bench::new(&[]);
    // A file where the folder should be: nothing can be put there, whoever we are.
    fs::create_dir(bench.outside().join("state")).unwrap();
    fs::write(bench.outside().join("state/artifacts"), "").unwrap();
    let result = fit(&bench, "c1", ToolResult::text(numbered(500)), 2_000).await;
    let shown = text(&result);
    assert!(shown.contains("left out here, and they are lost: the whole could not be kept ("), "{shown}");
    assert!(!shown.contains("read_file") && shown.chars().count() <= 2_000);
    assert_eq!((result.full_output, result.error), (None, None));
    // An id that is no name leads nowhere.
    for id in ["../c", ".c", "c/d", ""] {
        let result = fit(&Bench::new(&[]), id, ToolResult::text(numbered(500)), 2_000).await;
        assert!(result.full_output.is_none() && text(&result).contains("they are lost"), "{id}");
    }
    let full = io::Result::Err(io::Error::from(io::ErrorKind::StorageFull));
    let note = OutputCut::of(&numbered(500), 2_000, &full).parts(vec![MessagePart::text(numbered(500))]);
    assert!(note[0].as_text().unwrap().contains("(the disk is full)"), "{note:?}");
}

#[tokio::test]
async fn beyond_the_bound_the_beginning_is_kept_and_the_model_is_told() {
    let bench = Bench::new(&[]);
    // The bound falls within a character.
    let whole = format!("a{}", "é\n\n".repeat(MAX_KEPT_BYTES / 4 + 10));
    let result = fit(&bench, "c1", ToolResult::text(whole.clone()), 2_000).await;
    let kept = result.full_output.clone().unwrap();
    assert_eq!((kept.bytes, kept.total_bytes), (MAX_KEPT_BYTES as u64, whole.len() as u64));
    let shown = text(&result);
    let said = format!("Of its {} bytes only the first {MAX_KEPT_BYTES} are kept", whole.len());
    assert!(shown.contains(&said), "{shown}");
    let bytes = fs::read(&kept.path).unwrap();
    assert!(bytes == whole.as_bytes()[..MAX_KEPT_BYTES]);
    // All that is kept can be read, to its last line.
    let last = bench.call("read_file", json!({"path": kept.path, "offset": 10_485_750})).await;
    assert_eq!(last.error, None);
}

#[tokio::test]
async fn only_kept_outputs_of_the_own_session_can_be_read() {
    let bench = Bench::new(&[]);
    let store = bench.own_files.outputs();
    let whole = numbered(500);
    let keep = |session: &str, call: &str| store.keep(&session.into(), &call.into(), &whole).unwrap().path;
    let (own, other) = (keep("s1", "c1"), keep("s2", "c2"));
    assert_eq!(bench.call("read_file", json!({"path": own})).await.error, None);
    let artifacts = bench.outside().join("state/artifacts");
    fs::create_dir_all(artifacts.join("s1/undo/c1")).unwrap();
    fs::write(artifacts.join("s1/undo/c1/0.before"), "secret").unwrap();
    fs::write(artifacts.join("s1/output/notes.md"), "secret").unwrap();
    fs::write(bench.outside().join("state/subagentd.db"), "secret").unwrap();
    std::os::unix::fs::symlink(&other, artifacts.join("s1/output/c3.txt")).unwrap();
    std::os::unix::fs::symlink(artifacts.join("s2"), artifacts.join("s3")).unwrap();
    fs::create_dir(artifacts.join("s1/output/c4.txt")).unwrap();
    let folder = artifacts.join("s1/output");
    let folder = folder.to_str().unwrap();
    let state = bench.outside().join("state").to_str().unwrap().to_owned();
    let paths = [
        other.clone(),
        format!("{folder}/../../s2/output/c2.txt"),
        format!("{folder}/../output/c1.txt"),
        format!("{folder}//c1.txt"),
        format!("{folder}/c3.txt"),
        format!("{folder}/c4.txt"),
        format!("{folder}/c5.txt"),
        format!("{folder}/notes.md"),
        folder.to_owned(),
        format!("{state}/artifacts/s1/undo/c1/0.before"),
        format!("{state}/subagentd.db"),
    ];
    for path in paths {
        let result = bench.call("read_file", json!({"path": path})).await;
        let kind = result.error.as_ref().map(|error| error.kind);
        let is_refused =
            matches!(kind, Some(ToolErrorType::PathNotInWorkspace | ToolErrorType::FileNotFound));
        assert!(is_refused && !text(&result).contains("secret"), "{path}: {result:?}");
    }
    // A session whose folder is a link to another's.
    assert!(store.open(&"s3".into(), &"c2".into()).is_err());
    // It can be read, and that is all.
    for (tool, arguments) in [
        ("grep", json!({"pattern": "line", "path": folder})),
        ("read_many_files", json!({"include": [own]})),
        ("write_file", json!({"path": own, "content": ""})),
        ("delete_file", json!({"path": own})),
    ] {
        let kind = bench.call(tool, arguments).await.error.map(|error| error.kind);
        assert_eq!(kind, Some(ToolErrorType::PathNotInWorkspace), "{tool}");
    }
    // Outside of a session there is nothing to read.
    let cx = crate::PrepareContext { session: None, ..bench.prepare_context() };
    let toolset = crate::ToolRegistry::built_in().select(&protocol::ToolSelection::default());
    let refused = toolset.prepare(&"read_file".into(), json!({"path": own}), &cx).await.outcome;
    assert_eq!(refused.err().map(|error| error.kind), Some(ToolErrorType::PathNotInWorkspace));
}

#[test]
fn a_session_takes_its_outputs_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = ArtifactFolder::new(folder.path());
    let store = OutputStore::new(artifacts.clone());
    let (gone, stays) = ("s1".into(), "s2".into());
    for session in [&gone, &stays] {
        store.keep(session, &"c1".into(), "text").unwrap();
    }
    artifacts.forget_session(&gone).unwrap();
    artifacts.forget_session(&gone).unwrap();
    artifacts.forget_session(&"..".into()).unwrap();
    let left: Vec<_> = fs::read_dir(artifacts.root()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["s2"]);
}
