//! `save_memory`: writes a fact into a memory file. (spec 05, 08 "Memory files")

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use serde::Deserialize;
use serde_json::{Value, json};

use self::fact_target::{AddedFactChange, FactTarget};
use super::{
    BuiltInDefinition,
    changing::{ChangeContext, PreparedChange},
    declared,
};
use crate::{
    CallContext, Invocation, MemoryStanding, Permit, PrepareContext, work,
    workspace::{Workspace, WorkspacePath},
};
use memory::{MOST_MEMORY_BYTES, MOST_MEMORY_FILE_BYTES, MemoryFileState, plain_fact, with_fact};
use protocol::{
    CallLocation, ConfirmationDetails, MemorySaved, ReplaySafety, ResourceAccess, Risk, ToolDeclaration,
    ToolEffect, ToolError, ToolErrorType, ToolKind, ToolResult,
};

mod fact_target;

/// Characters of a fact: a sentence or two.
const MAX_FACT_CHARS: usize = 2_000;

const DESCRIPTION: &str = "\
Writes a fact into the user's memory file or, with scope `project`, into this workspace's. Later runs are told what these files \
say, so do not write down what they say already. Use it when the user asks to write something down, or states \
a lasting preference or fact about themselves or about this workspace. Not for what concerns this task alone, and not for \
what the files themselves say. One short sentence each.";

pub struct SaveMemoryTool;

impl BuiltInDefinition for SaveMemoryTool {
    type Arguments = SaveMemoryArguments;

    fn declaration() -> ToolDeclaration {
        let parameters = json!({
            "type": "object",
            "properties": {
                "fact": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_FACT_CHARS,
                    "description": "What to remember: one sentence that can be understood alone."
                },
                "scope": {
                    "type": "string",
                    "enum": ["user", "project"],
                    "description": "`user`: for all of the user's work. `project`: for this workspace, seen by whoever shares it. Default: user."
                }
            },
            "required": ["fact"],
            "additionalProperties": false
        });
        declared("save_memory", "Save memory", (ToolKind::Think, Risk::Low), DESCRIPTION, parameters)
    }

    fn replay() -> ReplaySafety {
        ReplaySafety::Unsafe
    }

    fn check(arguments: SaveMemoryArguments, cx: &PrepareContext) -> Result<Box<dyn Invocation>, ToolError> {
        let SaveMemoryArguments { fact, scope } = arguments;
        let scope = scope.unwrap_or(MemoryScope::User);
        let given = plain_fact(&fact);
        let fact = plain_fact(&web::plain(fact));
        if fact.is_empty() {
            return Err(failed("the fact is blank; say what to remember".to_owned()));
        }
        if cx.redactor.finds_in(&fact) {
            return Err(failed(
                "the fact holds what looks like a key or a password; that belongs in no memory file"
                    .to_owned(),
            ));
        }
        let MemoryPlace { ground, place, path } = match scope {
            MemoryScope::Project => project_memory(cx)?,
            MemoryScope::User => user_memory(cx)?,
        };
        let shown = ground.workspace.shown_absolute(&place);
        let target = FactTarget { ground, place };
        let Some(AddedFactChange { change, old_text, length }) = target.with(&fact)? else {
            let FactTarget { ground, place } = target;
            return Ok(Box::new(KnownFact {
                access: [ResourceAccess::Read { path: ground.workspace.access_path(&place) }],
                shown,
            }));
        };
        let guess = if scope == MemoryScope::Project && !cx.memory.is_trusted {
            ToldToRuns::OnceTrusted
        } else if MOST_MEMORY_FILE_BYTES < length {
            ToldToRuns::InPart
        } else {
            ToldToRuns::Whole
        };
        // A rule or a hook may be about the file as runs look for it, which may be a link.
        let mut accesses = change.accesses().to_vec();
        let written = ResourceAccess::Write { path: path.clone() };
        if !accesses.contains(&written) {
            accesses.push(written);
        }
        let told = ToldCheck { guess, standing: cx.memory.standing.clone(), path };
        let was_plain = given == fact;
        let wanted = WantedFact { fact, scope, shown, was_plain };
        Ok(Box::new(SaveMemoryInvocation { change, accesses, wanted, target, old_text, told }))
    }
}

/// The user's memory lies in the daemon's own folder, which tools must not write to but here, and below which only this
/// one file is reached. Where it is a link, the user made it.
fn user_memory(cx: &PrepareContext) -> Result<MemoryPlace, ToolError> {
    let folder = cx.own_files.memory_folder();
    let cannot =
        |why: &str| failed(format!("the user's memory in `{}` cannot be reached: {why}", folder.display()));
    let there = cx.memory.user_names.iter().map(|name| folder.join(name)).find(|file| file.is_file());
    let (path, file) = match there {
        Some(file) => {
            let real = file.canonicalize().map_err(|error| cannot(&error.to_string()))?;
            (file, real)
        }
        None => {
            let file = folder.join(first_of(&cx.memory.user_names));
            refuse_link(&file)?;
            (file.clone(), file)
        }
    };
    // Folders that are missing are made with the file, not before.
    let root =
        file.ancestors().skip(1).find(|folder| folder.is_dir()).ok_or_else(|| cannot("it has no folder"))?;
    let workspace = Workspace::open(&[root.to_owned()]).map_err(|error| cannot(&error.to_string()))?;
    let below = file.strip_prefix(root).map_err(|error| cannot(&error.to_string()))?;
    let place = workspace.roots().next().and_then(|root| workspace.place_at(&root.join(below)));
    let place = place.ok_or_else(|| cannot("its path is not plain"))?;
    Ok(MemoryPlace {
        ground: ChangeContext { workspace: Arc::new(workspace), ..ChangeContext::of(cx) },
        place,
        path,
    })
}

fn project_memory(cx: &PrepareContext) -> Result<MemoryPlace, ToolError> {
    let ground = ChangeContext::of(cx);
    // Names count from the first root, as they do when they are resolved.
    let root = ground.workspace.roots().next().map(Path::to_owned).unwrap_or_default();
    for name in cx.memory.project_names.iter() {
        let place = ground.workspace.resolve(name)?;
        if ground.workspace.facts(&place).is_ok_and(|facts| facts.is_file) {
            return Ok(MemoryPlace { ground, place, path: root.join(name) });
        }
    }
    let path = root.join(first_of(&cx.memory.project_names));
    refuse_link(&path)?;
    let place = ground.workspace.resolve(first_of(&cx.memory.project_names))?;
    Ok(MemoryPlace { ground, place, path })
}

/// Refuses to write where a link stands that leads to no file: it would make one where nobody looks, or take the link away.
fn refuse_link(file: &Path) -> Result<(), ToolError> {
    match file.is_symlink() {
        true => Err(failed(format!(
            "`{}` is a link that leads to no file; nothing can be added to it until it does, or is gone",
            file.display()
        ))),
        false => Ok(()),
    }
}

/// Where a fact is written.
struct MemoryPlace {
    ground: ChangeContext,
    place: WorkspacePath,
    /// The path under which runs look for it, which may be a link.
    path: PathBuf,
}

/// The name of the file that is made where there is none.
fn first_of(names: &[String]) -> &str {
    names.first().map_or("AGENTS.md", String::as_str)
}

fn failed(message: String) -> ToolError {
    ToolError { kind: ToolErrorType::MemoryToolExecutionError, message }
}

#[derive(Deserialize)]
pub struct SaveMemoryArguments {
    fact: String,
    scope: Option<MemoryScope>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MemoryScope {
    User,
    Project,
}

impl MemoryScope {
    fn as_str(self) -> &'static str {
        match self {
            MemoryScope::User => "user",
            MemoryScope::Project => "project",
        }
    }
}

struct SaveMemoryInvocation {
    change: PreparedChange,
    accesses: Vec<ResourceAccess>,
    wanted: WantedFact,
    target: FactTarget,
    /// The file's text as it is.
    old_text: String,
    told: ToldCheck,
}

/// A fact, and where it goes.
struct WantedFact {
    fact: String,
    scope: MemoryScope,
    shown: String,
    /// Nothing of it was taken out.
    was_plain: bool,
}

/// The end of what the model reads of a fact that had more in it than is seen.
const CLEANED: &str = "\nControl characters and marks of direction were taken out of the fact.";

/// What later runs are told of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ToldToRuns {
    Whole,
    /// It is too long for all of it.
    InPart,
    /// Nobody trusts its workspace.
    OnceTrusted,
    /// Another file counts in its place.
    Other(PathBuf),
    /// Nearer files leave no room for it.
    NoRoom,
    /// It is not read, and why.
    Skipped(String),
    /// No run looks for it.
    Never,
}

/// Finds out what later runs are told, once the fact is written.
struct ToldCheck {
    /// As it seems from the file alone.
    guess: ToldToRuns,
    standing: Option<MemoryStanding>,
    path: PathBuf,
}

impl ToldCheck {
    /// Blocks on the file system.
    fn told(self) -> ToldToRuns {
        let ToldCheck { guess, standing, path } = self;
        let Some(standing) = standing else { return guess };
        match standing(&path) {
            Some(MemoryFileState::Used | MemoryFileState::Below) => guess,
            Some(MemoryFileState::Untrusted) => ToldToRuns::OnceTrusted,
            Some(MemoryFileState::Shadowed { by }) => ToldToRuns::Other(by),
            Some(MemoryFileState::Dropped) => ToldToRuns::NoRoom,
            Some(MemoryFileState::Skipped(why)) => ToldToRuns::Skipped(why),
            None => ToldToRuns::Never,
        }
    }
}

impl ToldToRuns {
    /// The sentences that the model reads.
    fn said(&self, shown: &str, fact: &str) -> String {
        let remembered = format!("Remembered in `{shown}`: {fact}.");
        match self {
            ToldToRuns::Whole => format!("Remembered in `{shown}`, of which later runs are told: {fact}"),
            ToldToRuns::InPart => format!(
                "{remembered} Runs are told only the first {} KiB of that file; it should be shortened.",
                MOST_MEMORY_FILE_BYTES >> 10
            ),
            ToldToRuns::OnceTrusted => format!(
                "{remembered} Runs are not yet told of it: nobody has trusted this workspace (`subagent trust`)."
            ),
            ToldToRuns::Other(by) => format!(
                "{remembered} Runs are not told of it: `{}` counts in that file's place.",
                by.display()
            ),
            ToldToRuns::NoRoom => format!(
                "{remembered} Runs are not told of it: memory files are longer than {} KiB in all, and nearer ones go first.",
                MOST_MEMORY_BYTES >> 10
            ),
            ToldToRuns::Skipped(why) => format!("{remembered} Runs are not told of it: that file {why}."),
            ToldToRuns::Never => format!("{remembered} Runs are not told of it: no setting names that file."),
        }
    }
}

/// The fact by which the new text differs from the old one; `None` where anything else differs.
///
/// Perf: only the stretch that is new is looked at. To try each line of a long file would take minutes.
fn added_fact<'a>(old: &str, new: &'a str) -> Option<&'a str> {
    let length = new.len().checked_sub(old.len())?;
    let start = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let added = new.get(start..start + length)?;
    let fact = added.lines().filter_map(|line| line.strip_prefix("- ")).next_back()?;
    (with_fact(old, fact).as_deref() == Some(new)).then_some(fact)
}

impl Invocation for SaveMemoryInvocation {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.accesses
    }

    fn description(&self) -> String {
        format!("{}: {}", self.wanted.scope.as_str(), self.wanted.fact)
    }

    fn locations(&self) -> Vec<CallLocation> {
        self.change.locations()
    }

    fn risk(&self) -> Option<Risk> {
        match self.wanted.scope {
            // It is the one file of the daemon's folder that agents may write, one line at a time.
            MemoryScope::User => None,
            MemoryScope::Project => self.change.risk(),
        }
    }

    fn confirmation(&self) -> Option<ConfirmationDetails> {
        Some(self.change.details())
    }

    fn basis(&self) -> Option<String> {
        Some(self.change.basis())
    }

    /// Only where the content adds one fact to what is there: this tool does nothing else.
    fn with_content(&self, content: &str) -> Option<Value> {
        let fact = added_fact(&self.old_text, content)?;
        Some(json!({ "fact": fact, "scope": self.wanted.scope.as_str() }))
    }

    fn run(self: Box<Self>, permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let SaveMemoryInvocation { change, wanted, target, told, .. } = *self;
        let WantedFact { fact, scope, shown, was_plain } = wanted;
        let call_id = permit.call().clone();
        let saved = MemorySaved { call_id, path: shown.clone(), fact: fact.clone() };
        let (session, data) = (cx.session.clone(), json!({ "scope": scope.as_str() }));
        let (added, known) = (fact.clone(), says_so(&shown));
        let running =
            work::to_the_end(cx, move |stop| match target.add(&added, change, (&session, &permit), stop) {
                Ok(Some((change, changed))) => change.result(changed, String::new(), data),
                Ok(None) => ToolResult::text(known),
                Err(error) => ToolResult::failure(error.kind, error.message),
            });
        async move {
            let result = running.await;
            // Nothing was written.
            if result.error.is_some() || result.effects.is_empty() {
                return result;
            }
            // What runs are told of it is looked up as it is now.
            let mut said = work::aside(move || told.told().said(&shown, &fact)).await;
            if !was_plain {
                said.push_str(CLEANED);
            }
            let effects = result.effects.into_iter().chain([ToolEffect::Memory(saved)]).collect();
            ToolResult { llm_content: ToolResult::text(said).llm_content, effects, ..result }
        }
        .boxed()
    }
}

fn says_so(shown: &str) -> String {
    format!("`{shown}` says so already.")
}

/// A fact that stands there already.
struct KnownFact {
    access: [ResourceAccess; 1],
    shown: String,
}

impl Invocation for KnownFact {
    fn accesses(&self) -> &[ResourceAccess] {
        &self.access
    }

    fn description(&self) -> String {
        "a fact that is known already".to_owned()
    }

    fn locations(&self) -> Vec<CallLocation> {
        Vec::new()
    }

    fn risk(&self) -> Option<Risk> {
        Some(Risk::Safe)
    }

    fn run(self: Box<Self>, _permit: Permit, cx: CallContext) -> BoxFuture<'static, ToolResult> {
        let result = match cx.cancel.is_cancelled() {
            true => work::cancelled(),
            false => ToolResult::text(says_so(&self.shown)),
        };
        ready(result).boxed()
    }
}
