//! What does a change of a large file take, against writing that file durably once?

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use subagentd::protocol::{ToolEffect, ToolResult};

use crate::{
    ground::{now, since},
    house::{House, HouseParts, client_runtime},
    model::{Reply, Zero},
    table::{Row, Table, least, listed, millis},
    timed::Timed,
};

/// Bytes of the file that is edited.
const FILE_BYTES: usize = counted!(10_000_000, 100_000);
const REPEATS: usize = counted!(7, 1);
const EDITOR: &str =
    "---\nkind: agent\nname: editor\ndescription: Edits.\ncompletion: tool\ntools: [edit_file]\n---\nEdit.\n";

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let is_edit = |result: &ToolResult| matches!(result.effects[..], [ToolEffect::File(_)]);
    let (timed, times) = Timed::new("edit_file", is_edit)?;
    let model = Zero::new(|asked| match asked.ordinal {
        0 => Reply::Calls(vec![(
            "edit_file",
            json!({ "path": "large.txt", "oldString": "the one place", "newString": "another place" }),
        )]),
        _ => Reply::done(),
    });
    let agents = vec![("editor", EDITOR.to_owned())];
    let house = House::open(HouseParts { agents, tools: vec![Arc::new(timed)], ..HouseParts::zero(&model) })?;
    let file = house.work().join("large.txt");
    let (mut edits, mut writes) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let content = content();
        writes.push(millis(durably(&file, content.as_bytes())?));
        client_runtime()?
            .block_on(async { house.client().await?.run(house.start_of("editor", "zero")).await })?;
        ensure!(
            fs::read_to_string(&file)? == content.replace("the one place", "another place"),
            "not edited"
        );
        edits.push(millis(times.take()));
    }
    table.row(Row {
        name: "edit_file, exact match in 10 MB, kept for undo",
        figure: least(&edits),
        bound: 3.0 * least(&writes),
        unit: "ms",
        is_rate: false,
        baseline: Some(("one durable write", least(&writes))),
        note: format!("{}; writes {}", listed(&edits), listed(&writes)),
    });
    house.close()
}

/// Lines of text with one place in the middle that stands out.
fn content() -> String {
    let line = |n: usize| format!("line {n} of a file that is long\n");
    let half = FILE_BYTES / 2;
    let mut content = String::with_capacity(FILE_BYTES + 100);
    let mut n = 0;
    while content.len() < half {
        content.push_str(&line(n));
        n += 1;
    }
    content.push_str("the one place\n");
    while content.len() < FILE_BYTES {
        content.push_str(&line(n));
        n += 1;
    }
    content
}

/// A new file that takes the place of the old one, as an editor saves it.
fn durably(path: &Path, bytes: &[u8]) -> anyhow::Result<Duration> {
    let folder = path.parent().context("it lies in a folder")?;
    let began = now();
    let draft = folder.join("draft");
    let mut file = File::create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    File::open(folder)?.sync_all()?;
    Ok(since(began))
}
