//! `subagent trust --folders` and `--forget-folder`: where have agents worked, and is nothing there theirs any more?

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        ProcessIo, ReportFormat, consent,
        failure::CommandFailure,
        human, ids,
        link::DaemonLink,
        paging, person,
        sheet::Sheet,
        table::{self, TableCell, cell, whole},
    },
    TrustArguments,
};
use protocol::{NoParams, Timestamp, WorkedFoldersForget, WorkedFoldersForgetParams, WorkedFoldersList};

/// The way to say yes.
const HOW: &str = "press y and then Enter on a terminal to forget it; nothing else agrees";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WorkedFolderView {
    folder: String,
    last_session_id: Option<String>,
    last_at: Option<Timestamp>,
    sessions: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ForgottenView {
    folder: String,
    forgotten: bool,
    still_within: Vec<String>,
}

/// Lists the folders, the newest first.
pub(super) fn list_folders(
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let answer = link.ask_value::<WorkedFoldersList>(&NoParams {})?;
    if matches!(arguments.format, ReportFormat::Json) {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let folders: Vec<WorkedFolderView> = paging::entries(&answer, "folders")?;
    let length = ids::short_length(folders.iter().filter_map(|it| it.last_session_id.as_deref()));
    let cells = |it: &WorkedFolderView| {
        let last = it.last_at.map_or_else(|| "before that was kept".to_owned(), human::moment);
        let session = match (&it.last_session_id, it.sessions) {
            (Some(session), 0) => format!("{} (deleted)", ids::short(session, length)),
            (Some(session), _) => ids::short(session, length),
            (None, _) => String::new(),
        };
        [cell(&it.folder), cell(&last), cell(&session)]
    };
    let rows: Vec<[TableCell; 3]> = folders.iter().map(cells).collect();
    let text = match rows.is_empty() {
        true => "no agent has worked anywhere\n".to_owned(),
        // The folder is typed again to have it forgotten.
        false => table::draw([whole("FOLDER"), whole("LAST"), whole("SESSION")], &rows, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    // A pipe gets folders only.
    if surroundings.stdout.is_terminal && !rows.is_empty() {
        surroundings.stdout.write_drawn("\nForget one: subagent trust --forget-folder FOLDER\n")?;
    }
    Ok(0)
}

/// Asks, whoever calls: what agents may have written there will run with a person's rights.
pub(super) fn forget_folder(
    folder: &Path,
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    if !surroundings.has_person() {
        let what = "nobody can be asked here, and only a person may have a folder forgotten";
        return Err(CommandFailure::usage(what).or_hint("run it on a terminal"));
    }
    // The log says who it was.
    link.open_named(person::answering(surroundings)?, &mut surroundings.stderr)?;
    let listed = link.ask_value::<WorkedFoldersList>(&NoParams {})?;
    let known: Vec<WorkedFolderView> = paging::entries(&listed, "folders")?;
    // By its words, since it may be gone, or have become a link; otherwise where it leads.
    let written = without_dots(&surroundings.working_folder.join(folder));
    let real = folder_behind(&written);
    let found =
        [&written, &real].into_iter().find_map(|path| known.iter().find(|it| Path::new(&it.folder) == *path));
    let has_more = listed.get("more").and_then(Value::as_bool).unwrap_or_default();
    let path = match found {
        Some(found) => found.folder.clone(),
        None if has_more => real.display().to_string(),
        None => {
            let what = format!("no agent is known to have worked in {} itself", real.display());
            return Err(CommandFailure::new(what)
                .or_hint("`subagent trust --folders` lists the folders that are known"));
        }
    };
    if let Some(found) = found.filter(|it| it.sessions != 0) {
        let there = match found.sessions {
            1 => "1 session there has not been deleted".to_owned(),
            sessions => format!("{} there have not been deleted", human::count(sessions, "session")),
        };
        let what = format!("{path} cannot be forgotten yet: {there}");
        return Err(CommandFailure::new(what).or_hint(format!(
            "delete each with `subagent sessions delete SESSION`, then try again; `subagent sessions --query {path}` lists them"
        )));
    }
    let mut sheet = Sheet::of(&surroundings.stderr);
    let last = found.and_then(|it| it.last_at).map(|at| ("last", human::moment(at)));
    sheet.facts(last);
    sheet.unasked([("folder", path.clone())]);
    sheet.ours(
        "scripts below it that agents may have written will run with your rights, where your hooks, notifyCommand, key commands or MCP servers \
         name them: look through them before you say yes",
    );
    let question = sheet.show("Is nothing there an agent's any more?", arguments.whole, surroundings)?;
    consent::confirm(&question, HOW, surroundings)?;
    let answer = link.ask_value::<WorkedFoldersForget>(&WorkedFoldersForgetParams { folder: path })?;
    let reply: ForgottenView = paging::view(&answer)?;
    let words = || {
        let said = match reply.forgotten {
            true => format!("{} counts as your own again", reply.folder),
            false => format!("no agent is known to have worked in {} itself", reply.folder),
        };
        match reply.still_within.is_empty() {
            true => said,
            false => format!(
                "{said}; but it lies in {}, where agents worked as well",
                reply.still_within.join(", ")
            ),
        }
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    Ok(u8::from(!reply.forgotten))
}

/// The folder that a path leads to, if it is there.
fn folder_behind(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}
