//! `subagent extensions`: which are installed, what does one bring along, and how does one come and go?

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use super::{
    ListingFormat, OutputWriter, ProcessIo, ReportFormat, consent,
    failure::CommandFailure,
    human,
    link::DaemonLink,
    message::show_message,
    paging, safe_text,
    sheet::Sheet,
    table::{self, TableCell, cell, free, state_cell, whole},
    text_color::TextColor,
};
use protocol::{
    ExtensionDisable, ExtensionEnable, ExtensionGet, ExtensionInstall, ExtensionInstallParams, ExtensionList,
    ExtensionNameParams, ExtensionRemove, NoParams,
};

#[derive(Subcommand)]
pub(super) enum ExtensionsVerb {
    /// List the extensions that are installed, and whether each is in use
    List(ExtensionListArguments),
    /// Show an extension: where it is from, and the skills and MCP servers it brings along
    Show(ExtensionShowArguments),
    /// Install an extension from a folder or a git repository, or another version of one; shows what it brings along and asks
    Install(ExtensionInstallArguments),
    /// Enable an extension that was disabled
    Enable(ExtensionNameArguments),
    /// Disable an extension: runs lose its skills and tools at their next turn
    Disable(ExtensionNameArguments),
    /// Remove an extension, and what its programs wrote into their folder
    Remove(ExtensionRemoveArguments),
}

#[derive(Args)]
pub(super) struct ExtensionListArguments {
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct ExtensionShowArguments {
    /// The extension's name
    name: String,
    #[arg(long, value_enum, default_value_t = ListingFormat::Table)]
    format: ListingFormat,
}

#[derive(Args)]
pub(super) struct ExtensionInstallArguments {
    /// A folder with a plugin.json; or a repository that git fetches (https://….git, git+https://…, ssh://…, git@HOST:PATH,
    /// file:///…), with `#` and a branch, tag or commit behind it
    #[arg(value_name = "DIR|GIT-URL")]
    source: String,
    /// Do not ask
    #[arg(long, conflicts_with = "digest")]
    yes: bool,
    /// Install just what has this digest, as --dry-run shows it; then nothing is asked
    #[arg(long, value_name = "SHA256")]
    digest: Option<String>,
    /// Show everything, even if it does not fit the screen
    #[arg(long)]
    whole: bool,
    /// Install nothing; show what would come
    #[arg(long)]
    dry_run: bool,
    /// Print a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
pub(super) struct ExtensionNameArguments {
    /// The extension's name
    name: String,
    /// Print a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

#[derive(Args)]
pub(super) struct ExtensionRemoveArguments {
    /// The extension's name
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print a sentence, or the daemon's answer
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
}

/// The ways to agree to an installation.
const HOW: &str = "press y and then Enter, or give --yes";

/// An extension, with open states.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ExtensionView {
    name: String,
    version: Option<String>,
    description: Option<String>,
    source: String,
    commit: Option<String>,
    digest: String,
    state: String,
    fault: Option<String>,
    skill_count: u64,
    server_count: u64,
    notes: Vec<String>,
}

impl ExtensionView {
    fn brings(&self) -> String {
        counted(self.skill_count, self.server_count)
    }
}

/// What a person agrees to: where the daemon does not say it, there is nothing to be asked.
#[derive(Deserialize)]
struct ExtensionContentsView {
    skills: Vec<BundledSkillView>,
    servers: Vec<BundledMcpServerView>,
    author: Option<String>,
    homepage: Option<String>,
    license: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundledSkillView {
    name: String,
    description: String,
    unused_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BundledMcpServerView {
    name: String,
    is_program: bool,
    command_or_url: String,
    variables: Vec<String>,
    unused_reason: Option<String>,
}

impl BundledSkillView {
    fn told(&self) -> String {
        told(format!("{}: {}", self.name, self.description), self.unused_reason.as_deref())
    }
}

impl BundledMcpServerView {
    fn told(&self) -> String {
        let sets = match self.variables.is_empty() {
            true => String::new(),
            false => format!(" (sets {})", self.variables.join(", ")),
        };
        told(format!("{}: {}{sets}", self.name, self.command_or_url), self.unused_reason.as_deref())
    }

    fn label(&self) -> &'static str {
        if self.is_program { "starts" } else { "reaches" }
    }
}

fn told(text: String, unused: Option<&str>) -> String {
    match unused {
        Some(why) => format!("{text} — not used: {why}"),
        None => text,
    }
}

/// The answer to `extension/get`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionDetailsView {
    #[serde(default)]
    extension: ExtensionView,
    contents: ExtensionContentsView,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    data_folder: String,
}

/// The answer to `extension/install`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExtensionInstallView {
    outcome: String,
    #[serde(default)]
    extension: ExtensionView,
    before: Option<ExtensionView>,
    contents: ExtensionContentsView,
    file_count: Option<u64>,
}

pub(super) fn extensions(
    verb: &ExtensionsVerb,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    match verb {
        ExtensionsVerb::List(arguments) => list(arguments, link, surroundings),
        ExtensionsVerb::Show(arguments) => show(arguments, link, surroundings),
        ExtensionsVerb::Install(arguments) => install(arguments, link, surroundings),
        ExtensionsVerb::Enable(arguments) => switch(arguments, true, link, surroundings),
        ExtensionsVerb::Disable(arguments) => switch(arguments, false, link, surroundings),
        ExtensionsVerb::Remove(arguments) => remove(arguments, link, surroundings),
    }
}

fn list(
    arguments: &ExtensionListArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let answer = link.ask_value::<ExtensionList>(&NoParams {})?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let extensions: Vec<ExtensionView> = paging::entries(&answer, "extensions")?;
    let text = match extensions.is_empty() {
        true => "no extensions; `subagent extensions install DIR|GIT-URL` installs one\n".to_owned(),
        false => draw(&extensions, &surroundings.stdout),
    };
    surroundings.stdout.write_drawn(&text)?;
    for changed in extensions.iter().filter(|it| it.state == "changed") {
        let text = format!(
            "{} {}; it is off. If you want it as it was, install it again: `subagent extensions install {}`",
            changed.name,
            changed.fault.as_deref().unwrap_or("is not what was installed"),
            changed.source
        );
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    Ok(0)
}

fn draw(extensions: &[ExtensionView], stdout: &OutputWriter) -> String {
    let cells = |it: &ExtensionView| {
        let version = it.version.as_deref().unwrap_or("-");
        let about = it.description.as_deref().unwrap_or_default();
        [cell(&it.name), state_cell(&it.state), cell(version), cell(&it.brings()), cell(about)]
    };
    let rows: Vec<[TableCell; 5]> = extensions.iter().map(cells).collect();
    let columns =
        [whole("EXTENSION"), whole("STATE"), whole("VERSION"), whole("BRINGS"), free("WHAT IT IS FOR")];
    table::draw(columns, &rows, stdout)
}

fn counted(skills: u64, servers: u64) -> String {
    match (skills, servers) {
        (0, 0) => "nothing".to_owned(),
        (_, 0) => human::count(skills, "skill"),
        (0, _) => human::count(servers, "server"),
        _ => format!("{}, {}", human::count(skills, "skill"), human::count(servers, "server")),
    }
}

fn show(
    arguments: &ExtensionShowArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let params = ExtensionNameParams { name: arguments.name.clone() };
    let answer = link.ask_value::<ExtensionGet>(&params)?;
    if arguments.format == ListingFormat::Json {
        paging::print_json(&answer, surroundings)?;
        return Ok(0);
    }
    let ExtensionDetailsView { extension, contents: brings, folder, data_folder } = paging::view(&answer)?;
    let version = extension.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    let mut text = format!("{}{version}  {}\n", extension.name, extension.state);
    // In one line each: nothing that a file says looks like another fact.
    let mut fact = |name: &str, value: &str| {
        text.push_str(&format!("{name:<12}{}\n", value.replace(char::is_control, " ")));
    };
    if let Some(fault) = &extension.fault {
        fact("off", &format!("it {fault}"));
    }
    let optional =
        [("for", &extension.description), ("author", &brings.author), ("homepage", &brings.homepage)];
    for (name, value) in optional.into_iter().chain([("license", &brings.license)]) {
        if let Some(value) = value {
            fact(name, value);
        }
    }
    fact("from", &extension.source);
    if let Some(commit) = &extension.commit {
        fact("commit", commit);
    }
    fact("digest", &extension.digest);
    fact("folder", &folder);
    fact("data", &data_folder);
    for skill in &brings.skills {
        fact("skill", &skill.told());
    }
    for server in &brings.servers {
        fact(server.label(), &server.told());
    }
    surroundings.stdout.write_drawn(&safe_text::lines(&text))?;
    for note in &extension.notes {
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", note);
    }
    Ok(0)
}

fn install(
    arguments: &ExtensionInstallArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let mut params = ExtensionInstallParams {
        source: absolute(&arguments.source, surroundings)?,
        digest: arguments.digest.clone(),
        dry_run: true,
    };
    if arguments.digest.is_none() || arguments.dry_run {
        let answer = ask(&params, link, surroundings)?;
        let coming: ExtensionInstallView = paging::view(&answer)?;
        let is_there = coming.outcome == "unchanged";
        if !arguments.dry_run && !is_there && !coming.is_whole() {
            let what = "the daemon's answer does not say which extension would be installed";
            return Err(
                CommandFailure::new(what).or_hint("nothing was installed; `subagent stop`, then try again")
            );
        }
        let question = match &coming.before {
            Some(before) => format!("Put {} into the place of {}?", named(&coming.extension), named(before)),
            None => format!("Install {}?", named(&coming.extension)),
        };
        let wants_all = arguments.whole || arguments.dry_run || is_there;
        let question = coming.sheet(&surroundings.stderr).show(&question, wants_all, surroundings)?;
        if arguments.dry_run || is_there {
            let words = || match is_there {
                true => format!("{} is installed already, just as it is there", named(&coming.extension)),
                false => format!("nothing was installed; the digest is {}", coming.extension.digest),
            };
            paging::tell(&answer, arguments.format, words, surroundings)?;
            return Ok(0);
        }
        if !arguments.yes {
            consent::confirm(&question, HOW, surroundings)?;
        }
        // Exactly what was shown.
        params.digest = Some(coming.extension.digest);
    }
    params.dry_run = false;
    let answer = ask(&params, link, surroundings)?;
    let done: ExtensionInstallView = paging::view(&answer)?;
    let words = || {
        let name = named(&done.extension);
        let brings = counted(done.contents.skills.len() as u64, done.contents.servers.len() as u64);
        match done.outcome.as_str() {
            "unchanged" => format!("{name} is installed already"),
            "updated" => format!("{name} is installed in the place of what was there; it brings {brings}"),
            _ => format!("{name} is installed; it brings {brings}"),
        }
    };
    paging::tell(&answer, arguments.format, words, surroundings)?;
    if arguments.digest.is_some() {
        for note in &done.extension.notes {
            show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", note);
        }
    }
    Ok(0)
}

fn ask(
    params: &ExtensionInstallParams,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<Value, CommandFailure> {
    let ProcessIo { stderr, interrupts, .. } = surroundings;
    Ok(link.ask_for_effect::<ExtensionInstall>(params, stderr, &mut || interrupts() > 0)?)
}

fn named(extension: &ExtensionView) -> String {
    match &extension.version {
        Some(version) => format!("{} {version}", extension.name),
        None => extension.name.clone(),
    }
}

/// The daemon does not know where the person stands.
fn absolute(source: &str, surroundings: &ProcessIo) -> Result<String, CommandFailure> {
    let folder = surroundings.working_folder.join(source);
    if (source.contains("://") || source.starts_with("git@")) && !folder.exists() {
        return Ok(source.to_owned());
    }
    let folder = folder.canonicalize().unwrap_or(folder);
    folder.to_str().map(str::to_owned).ok_or_else(|| {
        CommandFailure::usage(format!("the path is not UTF-8: {}", folder.display()))
            .or_hint("name a folder whose path is")
    })
}

impl ExtensionInstallView {
    /// True if it says all that a person agrees to.
    fn is_whole(&self) -> bool {
        let ExtensionView { name, source, digest, .. } = &self.extension;
        self.file_count.is_some() && [name, source, digest].iter().all(|part| !part.is_empty())
    }

    /// Shows what would come, and what of it would run, last.
    fn sheet(&self, stderr: &OutputWriter) -> Sheet {
        let ExtensionView { name, version, description, source, commit, digest, notes, .. } = &self.extension;
        let mut sheet = Sheet::of(stderr);
        let optional =
            |label: &'static str, value: &Option<String>| value.clone().map(|value| (label, value));
        let facts = [("name", name.clone())].into_iter().chain(optional("version", version));
        let facts =
            facts.chain(optional("for", description)).chain(optional("author", &self.contents.author));
        let facts = facts.chain([("from", source.clone())]).chain(optional("commit", commit));
        let files = self.file_count.map(|files| ("files", human::count(files, "file")));
        sheet.facts(facts.chain([("digest", digest.clone())]).chain(files));
        sheet.facts(notes.iter().map(|note| ("note", note.clone())));
        sheet.facts(self.contents.skills.iter().map(|skill| ("skill", skill.told())));
        let servers = self.contents.servers.iter().map(|server| (server.label(), server.told()));
        match self.contents.servers.is_empty() {
            true => sheet.unasked([("starts", "nothing by itself".to_owned())]),
            false => sheet.unasked(servers),
        }
        sheet
    }
}

fn switch(
    arguments: &ExtensionNameArguments,
    enabled: bool,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let params = ExtensionNameParams { name: arguments.name.clone() };
    let answer = match enabled {
        true => link.ask_value::<ExtensionEnable>(&params)?,
        false => link.ask_value::<ExtensionDisable>(&params)?,
    };
    let word = if enabled { "enabled" } else { "disabled" };
    paging::tell(&answer, arguments.format, || format!("{} is {word}", arguments.name), surroundings)?;
    // An older daemon may not say how it stands.
    let now: ExtensionView = answer.get("extension").map(paging::view).transpose()?.unwrap_or_default();
    if let Some(fault) = now.fault {
        let text = format!("it has no effect: {} {fault}", arguments.name);
        show_message(&mut surroundings.stderr, TextColor::Yellow, "warning", &text);
    }
    Ok(0)
}

fn remove(
    arguments: &ExtensionRemoveArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    let params = ExtensionNameParams { name: arguments.name.clone() };
    if !arguments.yes {
        let found: ExtensionDetailsView = paging::view(&link.ask_value::<ExtensionGet>(&params)?)?;
        let question = format!(
            "Remove {}, which brings {}, with all that its programs wrote?",
            named(&found.extension),
            found.extension.brings()
        );
        consent::confirm(&question, "press y and then Enter, or give --yes", surroundings)?;
    }
    let answer = link.ask_value::<ExtensionRemove>(&params)?;
    paging::tell(&answer, arguments.format, || format!("{} is removed", arguments.name), surroundings)?;
    Ok(0)
}
