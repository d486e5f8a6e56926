//! `subagent import`: files of this and of other products become agents here.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use serde_json::Value;

use super::{
    OutputWriter, ProcessIo, consent,
    failure::{CommandFailure, EXIT_FAILED},
    human,
    key::new_key,
    link::DaemonLink,
    message::show_message,
    paging, palette,
    problem::FileProblemView,
    scope::DestinationArguments,
    sheet::Sheet,
    table::{self, TableCell, cell, state_cell, whole},
    text_color::TextColor,
};
use protocol::{
    AgentFormat, AgentsImport, AgentsImportParams, ImportOutcome, OnConflict, OpenEnum, default_tools,
};

#[derive(Args)]
pub(super) struct ImportArguments {
    /// Files, folders that are read with those below them, and URLs: of a file (https://…), or of a repository that git
    /// fetches (https://….git, git+https://…, ssh://…, git@HOST:PATH, file:///…), with `#` and a branch, tag or commit behind it
    #[arg(value_name = "PATH|URL", required = true)]
    paths: Vec<PathBuf>,
    /// Format of the files [default: detected from the folder or the file]; `json` prints the daemon's answer.
    /// May be given twice
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Vec<FormatWord>,
    #[command(flatten)]
    destination: DestinationArguments,
    /// If an agent of this name exists
    #[arg(long, value_enum, default_value_t = ConflictWord::Skip, value_name = "WHAT")]
    on_conflict: ConflictWord,
    /// Expected digest of what the URL delivers, as shown by --dry-run; then nothing is asked
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Show everything that comes from a URL before asking, even if it does not fit the screen
    #[arg(long)]
    whole: bool,
    /// Write nothing; show what would happen to each file
    #[arg(long)]
    dry_run: bool,
}

/// A product whose files are read and written, or how the answer is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatWord {
    /// Ours
    Own,
    /// Claude Code
    Claude,
    /// Gemini CLI
    Gemini,
    /// OpenCode
    #[value(name = "opencode")]
    OpenCode,
    /// No format of files: print the daemon's answer
    Json,
}

/// Of several formats that are given the last counts.
pub(super) fn file_format(words: &[FormatWord]) -> Option<AgentFormat> {
    words.iter().rev().find_map(|word| match word {
        FormatWord::Own => Some(AgentFormat::Own),
        FormatWord::Claude => Some(AgentFormat::Claude),
        FormatWord::Gemini => Some(AgentFormat::Gemini),
        FormatWord::OpenCode => Some(AgentFormat::OpenCode),
        FormatWord::Json => None,
    })
}

#[derive(Clone, Copy, ValueEnum)]
enum ConflictWord {
    /// The new one is left out
    Skip,
    /// The old one goes to the trash
    Replace,
    /// The new one's name also gets the name of its folder
    Namespace,
}

impl From<ConflictWord> for OnConflict {
    fn from(word: ConflictWord) -> OnConflict {
        match word {
            ConflictWord::Skip => OnConflict::Skip,
            ConflictWord::Replace => OnConflict::Replace,
            ConflictWord::Namespace => OnConflict::Namespace,
        }
    }
}

/// Where a project's agents lie, see spec 02, "Places and precedence".
const OF_PROJECT: &str = "/.subagentd/agents/";

/// What became of the files.
#[derive(Deserialize)]
struct AgentsImportReply {
    files: Vec<ImportedFileView>,
    #[serde(default)]
    problems: Vec<FileProblemView>,
    origin: Option<ImportOrigin>,
}

/// What came from a URL.
#[derive(Deserialize)]
struct ImportOrigin {
    url: String,
    digest: String,
    commit: Option<String>,
}

/// What a person agrees to: where the daemon does not say it, there is nothing to be asked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImportedPermissions {
    /// Missing = the default set.
    tools: Option<Vec<String>>,
    servers: Vec<String>,
    deny: Vec<String>,
    inherits: bool,
    agents: bool,
    auto_approve: Vec<String>,
    /// Its own MCP servers, each with how it is started or reached.
    mcp_servers: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ImportedFileView {
    source: String,
    state: String,
    name: String,
    outcome: OpenEnum<ImportOutcome>,
    path: Option<String>,
    /// Missing where the file holds no agent.
    permissions: Option<ImportedPermissions>,
    text: Option<String>,
    problems: Vec<FileProblemView>,
}

impl ImportedFileView {
    /// What became of it, or would.
    fn status(&self, is_dry: bool) -> TableCell {
        let word = self.outcome.as_str();
        match self.outcome.known().filter(|_| is_dry) {
            Some(ImportOutcome::Written | ImportOutcome::Replaced | ImportOutcome::Skipped) => {
                cell(&format!("would be {word}")).painted(palette::ink(word))
            }
            _ => state_cell(word),
        }
    }

    /// Whether nobody can tell here that nothing would be written.
    fn may_write(&self) -> bool {
        self.is_new() || self.outcome.known().is_none()
    }

    /// Something stands there now, or would, that did not.
    fn is_new(&self) -> bool {
        matches!(self.outcome.known(), Some(ImportOutcome::Written | ImportOutcome::Replaced))
    }
}

pub(super) fn import(
    arguments: &ImportArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let (mut paths, mut urls) = (Vec::new(), Vec::new());
    for path in &arguments.paths {
        match absolute(path, surroundings)? {
            ImportSource::Path(path) => paths.push(path),
            ImportSource::Url(url) => urls.push(url),
        }
    }
    if arguments.digest.is_some() && (urls.len() != 1 || !paths.is_empty()) {
        return Err(
            CommandFailure::usage("--digest is what one URL must hold").or_hint("import each URL by itself")
        );
    }
    link.open(&mut surroundings.stderr)?;
    let mut code = 0;
    if !paths.is_empty() {
        code = code.max(bring(paths, None, arguments, link, surroundings)?);
    }
    // Each by itself: what a person says yes to is one digest.
    for url in urls {
        code = code.max(bring(Vec::new(), Some(url), arguments, link, surroundings)?);
    }
    Ok(code)
}

fn bring(
    paths: Vec<PathBuf>,
    url: Option<String>,
    arguments: &ImportArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let is_json = arguments.format.contains(&FormatWord::Json);
    let is_unread = url.is_some() && arguments.digest.is_none() && !arguments.dry_run;
    let mut params = AgentsImportParams {
        paths,
        url,
        digest: arguments.digest.clone(),
        format: file_format(&arguments.format),
        scope: arguments.destination.scope(),
        workspace: surroundings.workspace(),
        on_conflict: arguments.on_conflict.into(),
        dry_run: arguments.dry_run,
        idempotency_key: None,
    };
    // Without a person the daemon decides: a project's agents wait to be read, one's own must be named by their digest.
    if is_unread && !is_json && surroundings.has_person() {
        params.dry_run = true;
        let coming: AgentsImportReply = paging::view(&ask(&mut params, link, surroundings)?)?;
        let news = coming.files.iter().filter(|file| file.may_write()).count();
        let Some(origin) = &coming.origin else {
            return Err(unsaid("what came from the URL"));
        };
        let digest = origin.digest.clone();
        let question = format!("Bring in {}?", human::count(news as u64, "agent"));
        let wants_all = arguments.whole || news == 0;
        let question = coming.sheet(&surroundings.stderr)?.show(&question, wants_all, surroundings)?;
        if news == 0 {
            // Nothing was agreed to, so nothing is brought in, whatever is in the way no longer.
            show(&coming, false, surroundings)?;
            return Ok(exit_code(&coming));
        }
        consent::confirm(&question, "press y and then Enter, or give --digest", surroundings)?;
        params.dry_run = false;
        // Exactly what was shown.
        params.digest = Some(digest);
    }
    let answer = ask(&mut params, link, surroundings)?;
    let imported: AgentsImportReply = paging::view(&answer)?;
    match is_json {
        true => paging::print_json(&answer, surroundings)?,
        false => show(&imported, arguments.dry_run, surroundings)?,
    }
    Ok(exit_code(&imported))
}

fn exit_code(imported: &AgentsImportReply) -> u8 {
    let is_rejected = |file: &ImportedFileView| file.outcome.known() == Some(ImportOutcome::Rejected);
    let has_failed =
        imported.files.iter().any(is_rejected) || imported.problems.iter().any(FileProblemView::is_error);
    if has_failed { EXIT_FAILED } else { 0 }
}

fn ask(
    params: &mut AgentsImportParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Value, CommandFailure> {
    params.idempotency_key = Some(new_key()?);
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    Ok(link.ask_for_effect::<AgentsImport>(params, stderr, &mut || interrupts() > 0)?)
}

enum ImportSource {
    Path(PathBuf),
    Url(String),
}

/// The daemon does not know where the person stands.
fn absolute(path: &PathBuf, surroundings: &ProcessIo) -> Result<ImportSource, CommandFailure> {
    let absolute = surroundings.working_folder.join(path);
    let shown = path.display().to_string();
    let looks_like_url = shown.contains("://") || shown.starts_with("git@");
    if absolute.to_str().is_none() {
        return Err(CommandFailure::usage(format!("the path is not UTF-8: {shown}"))
            .or_hint("name a file or folder whose path is"));
    }
    if looks_like_url && !absolute.exists() {
        return Ok(ImportSource::Url(shown));
    }
    Ok(ImportSource::Path(absolute))
}

impl ImportedPermissions {
    /// The tools that it could use, in words.
    fn tools_in_words(&self) -> String {
        let ImportedPermissions { tools, servers, deny, inherits, agents, .. } = self;
        let mut may = match tools {
            Some(tools) => tools.clone(),
            None if *inherits => Vec::new(),
            None => default_tools(false).map(str::to_owned).collect(),
        };
        may.extend(servers.iter().map(|server| format!("mcp.{server}.*")));
        may.extend(inherits.then(|| "every other tool".to_owned()));
        may.extend(agents.then(|| "every agent".to_owned()));
        may.extend(deny.iter().map(|tool| format!("not {tool}")));
        listed(&may)
    }

    fn runs_unasked(&self) -> bool {
        !self.auto_approve.is_empty() || !self.mcp_servers.is_empty()
    }

    /// Rows that say what runs without asking anybody.
    fn unasked(&self) -> impl Iterator<Item = (&'static str, String)> {
        let starts = self.mcp_servers.iter().map(|server| ("starts", server.clone()));
        starts.chain([("approves", listed(&self.auto_approve))])
    }
}

fn listed(entries: &[String]) -> String {
    if entries.is_empty() { "none".to_owned() } else { entries.join(", ") }
}

/// Nobody agrees to what they were not shown.
fn unsaid(what: &str) -> CommandFailure {
    CommandFailure::new(format!("the daemon's answer does not say {what}"))
        .or_hint("nothing was brought in; `subagent stop`, then try again")
}

impl AgentsImportReply {
    /// What would come from a URL, and what it may do.
    fn sheet(&self, stderr: &OutputWriter) -> Result<Sheet, CommandFailure> {
        if self.files.iter().any(|file| file.name.is_empty() || file.outcome.as_str().is_empty()) {
            return Err(unsaid("which agents would be brought in"));
        }
        if let Some(file) = self.files.iter().find(|file| file.may_write() && file.permissions.is_none()) {
            return Err(unsaid(&format!("what {} may do", file.name)));
        }
        let mut sheet = Sheet::of(stderr);
        if let [ImportedFileView { text: Some(file), .. }] = self.files.as_slice() {
            sheet.text(file);
        }
        if let Some(ImportOrigin { url, digest, commit }) = &self.origin {
            let commit = commit.as_ref().map(|commit| ("commit", commit.clone()));
            let origin = [("from", url.clone())].into_iter().chain(commit);
            sheet.facts(origin.chain([("digest", digest.clone())]));
        }
        let facts = self.files.iter().flat_map(|file| {
            let agent = [("agent", file.name.clone()), ("would be", file.outcome.as_str().to_owned())];
            let tools = file.permissions.iter().map(|permissions| ("tools", permissions.tools_in_words()));
            agent.into_iter().chain(tools)
        });
        sheet.facts(facts);
        // Next to what is asked, and never left out.
        let all = self.files.iter().filter_map(|file| Some((file, file.permissions.as_ref()?)));
        let unasked: Vec<_> = all.clone().filter(|(_, permissions)| permissions.runs_unasked()).collect();
        match (self.files.as_slice(), unasked.as_slice()) {
            ([_], _) => sheet.unasked(all.flat_map(|(_, permissions)| permissions.unasked())),
            (_, []) => sheet.unasked([("approves", "none, of all of them".to_owned())]),
            (_, unasked) => sheet.unasked(unasked.iter().flat_map(|(file, permissions)| {
                let name =
                    move |(label, what): (&'static str, String)| (label, format!("{}: {what}", file.name));
                permissions.unasked().map(name)
            })),
        }
        Ok(sheet)
    }

    fn show_origin(&self, surroundings: &mut ProcessIo) {
        let Some(ImportOrigin { url, digest, commit }) = &self.origin else { return };
        let commit = commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
        let text = format!("{url}{commit}, is now --digest {digest}");
        show_message(&mut surroundings.stderr, TextColor::Dim, "note", &text);
    }
}

fn show(
    imported: &AgentsImportReply,
    is_dry: bool,
    surroundings: &mut ProcessIo,
) -> Result<(), CommandFailure> {
    let cells = |file: &ImportedFileView| {
        [
            cell(&file.source),
            file.status(is_dry),
            cell(&file.name),
            state_cell(&file.state),
            cell(file.path.as_deref().unwrap_or("-")),
        ]
    };
    let rows: Vec<[TableCell; 5]> = imported.files.iter().map(cells).collect();
    // Paths are what one came for, so none gives way.
    let columns = [whole("FILE"), whole("OUTCOME"), whole("AGENT"), whole("STATE"), whole("PATH")];
    let text = match rows.is_empty() {
        true => "no files\n".to_owned(),
        false => table::draw(columns, &rows, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    let stderr = &mut surroundings.stderr;
    let of_files = imported.files.iter().flat_map(|file| &file.problems);
    imported.problems.iter().chain(of_files).for_each(|problem| problem.show(stderr));
    let is_skipped = |file: &&ImportedFileView| file.outcome.known() == Some(ImportOutcome::Skipped);
    let skipped = imported.files.iter().filter(is_skipped).count();
    if 0 < skipped {
        let files = human::count(skipped as u64, "file");
        let text = format!("{files} left out, since agents of their names are there; see --on-conflict");
        show_message(stderr, TextColor::Dim, "note", &text);
    }
    let is_new = |file: &ImportedFileView| {
        file.is_new() && file.path.as_ref().is_some_and(|path| path.contains(OF_PROJECT))
    };
    if !is_dry && imported.files.iter().any(is_new) {
        let text = "nobody has read what was written into the project: subagent trust shows it, and asks; until then it cannot be started";
        show_message(stderr, TextColor::Dim, "note", text);
    }
    if is_dry {
        imported.show_origin(surroundings);
        let stderr = &mut surroundings.stderr;
        show_message(stderr, TextColor::Dim, "note", "nothing was written");
    }
    Ok(())
}
