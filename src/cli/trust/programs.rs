//! `subagent trust --programs`: which programs of the settings changed since they were noted, and may they be run as they are now?

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    super::{ProcessIo, consent, failure::CommandFailure, human, link::DaemonLink, paging, sheet::Sheet},
    DIGEST_CHARACTERS, TrustArguments,
};
use protocol::{
    NoParams, ProgramId, ProgramsAcknowledge, ProgramsAcknowledgeParams, ProgramsList, TrustedFile,
};

/// The way to say yes.
const HOW: &str = "press y and then Enter to acknowledge them, or give --yes";

#[derive(Deserialize)]
struct ProgramView {
    id: ProgramId,
    source: String,
    name: String,
    /// Missing where it is not for a workspace.
    #[serde(default)]
    workspace: Vec<String>,
    files: Vec<ProgramFileView>,
    changed: bool,
}

#[derive(Deserialize)]
struct ProgramFileView {
    path: String,
    noted: Option<String>,
    now: Option<String>,
}

impl ProgramView {
    fn title(&self) -> String {
        match (self.source.as_str(), self.workspace.is_empty()) {
            ("mcpServer", false) => format!("MCP server {} in {}", self.name, self.workspace.join(", ")),
            ("mcpServer", true) => format!("MCP server {}", self.name),
            _ => format!("command {}", self.name),
        }
    }

    /// Rows of what is other than it was noted.
    fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let short = |digest: &String| digest.chars().take(DIGEST_CHARACTERS).collect::<String>();
        self.files.iter().filter(|file| file.now != file.noted).flat_map(move |file| {
            let is_folder = Path::new(&file.path).is_dir();
            let change = match (&file.noted, &file.now) {
                (None, Some(_)) if is_folder => {
                    "it is looked here for what is run: anything in it, whatever agents make of it".to_owned()
                }
                (Some(noted), Some(now)) => format!("changed · {} · was {}", short(now), short(noted)),
                (None, Some(now)) => format!("new · {}", short(now)),
                (_, None) => "gone, or cannot be read".to_owned(),
            };
            [(if is_folder { "folder" } else { "file" }, file.path.clone()), ("", change)]
        })
    }
}

pub(super) fn trust_programs(
    arguments: &TrustArguments,
    link: &mut DaemonLink,
    surroundings: &mut ProcessIo,
) -> Result<u8, CommandFailure> {
    link.open(&mut surroundings.stderr)?;
    let listed = link.ask_value::<ProgramsList>(&NoParams {})?;
    let all: Vec<ProgramView> = paging::view(listed.get("programs").unwrap_or(&Value::Null))?;
    let count = human::count(all.len() as u64, "program");
    let changed: Vec<ProgramView> = all.into_iter().filter(|program| program.changed).collect();
    if changed.is_empty() {
        let words = || format!("nothing changed since it was noted ({count} of your settings)");
        paging::tell(&listed, arguments.format, words, surroundings)?;
        return Ok(0);
    }
    let mut sheet = Sheet::of(&surroundings.stderr);
    for program in &changed {
        // In full: a path of which the end is not seen cannot be trusted.
        sheet.unasked([("program", program.title())].into_iter().chain(program.rows()));
    }
    sheet.ours("they run outside of the sandbox, with your rights: read these files before you say yes");
    let question = format!("May {} be run as they are now?", human::count(changed.len() as u64, "program"));
    let question = sheet.show(&question, arguments.whole || arguments.yes, surroundings)?;
    if !arguments.yes {
        consent::confirm(&question, HOW, surroundings)?;
    }
    let mut answers = Vec::new();
    for program in &changed {
        // Exactly what was shown.
        let there = program.files.iter().filter_map(|file| Some((file.path.clone(), file.now.clone()?)));
        let files = there.map(|(path, digest)| TrustedFile { path, digest }).collect();
        let params = ProgramsAcknowledgeParams { id: program.id.clone(), files };
        answers.push(link.ask_value::<ProgramsAcknowledge>(&params)?);
    }
    let words = || {
        let names: Vec<String> = changed.iter().map(ProgramView::title).collect();
        format!("may be run as they are now: {}", names.join(", "))
    };
    paging::tell(&json!({ "acknowledged": answers }), arguments.format, words, surroundings)?;
    Ok(0)
}
