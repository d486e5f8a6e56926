//! Does what agents are told cost anything? Putting together a system prompt, and reading memory files: once a run, never in a turn.

use std::{fs, path::PathBuf};

use anyhow::ensure;
use subagentd::{
    memory::{MemoryRules, UserFileReader, UserMemory, collect},
    prompts::{ContextBlock, ModuleSwitches, PromptFacts, context_message, joined, modules},
    sys::guarded::GuardedPlacesView,
};

use crate::{
    ground::{folder, now, since},
    table::{Row, Table, percentile},
};

/// More than anybody has.
const FILES: usize = counted!(200, 10);
const REPEATS: usize = counted!(25, 1);
/// What a machine's speed has no part in.
const MOST_OF_READING: f64 = 8.0;

pub fn measure(table: &mut Table) -> anyhow::Result<()> {
    let folder = folder()?;
    let path = |n: usize| folder.path().join(format!("{n}.md"));
    for n in 0..FILES {
        fs::write(path(n), format!("Rule {n}: say it plainly, and test it.\n").repeat(20))?;
    }
    let rules = MemoryRules { user_files: (0..FILES).map(path).collect(), ..MemoryRules::default() };
    let reader = UserFileReader {
        home: Some(folder.path().to_owned()),
        folders: Vec::new(),
        hidden: GuardedPlacesView::default(),
    };
    let facts = PromptFacts { is_interactive: true, is_repository: true, ..PromptFacts::default() };
    let (mut whole, mut alone, mut read) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let began = now();
        let text = joined(&modules(&facts, &ModuleSwitches::default()));
        alone.push(since(began));
        let began = now();
        let bytes: usize =
            rules.user_files.iter().filter_map(|path| fs::read(path).ok()).map(|it| it.len()).sum();
        read.push(since(began));
        ensure!(0 < bytes, "the files are missing");
        let began = now();
        let folders: Vec<PathBuf> = vec![folder.path().join("none")];
        let memory = collect(&rules, &UserMemory { reader: &reader, folders }, &[]);
        let blocks: Vec<ContextBlock> = memory
            .used()
            .map(|file| ContextBlock {
                kind: "memory".to_owned(),
                source: file.path.display().to_string(),
                text: file.text.clone(),
            })
            .collect();
        let message = context_message(&blocks, "").unwrap_or_default();
        whole.push(since(began));
        ensure!(blocks.len() == FILES && message.len() > text.len(), "memory is missing");
    }
    table.row(Row {
        name: "what a run is told with 200 memory files, warm",
        figure: percentile(&whole, 0.5),
        bound: 5.0,
        unit: "ms",
        is_rate: false,
        baseline: Some(("reading them", percentile(&read, 0.5))),
        note: format!("the system prompt alone {:.3} ms", percentile(&alone, 0.5)),
    });
    table.row(Row {
        name: "the same, as often as long as reading the files",
        figure: percentile(&whole, 0.5) / percentile(&read, 0.5),
        bound: MOST_OF_READING,
        unit: "x",
        is_rate: false,
        baseline: None,
        note: "opened safely, searched for imports, marked, and a word found for the marks".to_owned(),
    });
    Ok(())
}
