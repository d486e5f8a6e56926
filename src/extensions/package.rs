//! What does an extension bring along? Its manifest, its skills and its servers, and what of its folder does not count.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    PackageFault,
    manifest::{self, PluginManifest, quoted, shortened},
    servers::{self, PackagedServer},
};
use protocol::ProblemSeverity;
use skills::SkillText;
use sys::regular_file;

/// The folder of skills, below the top.
const SKILLS: &str = "skills";
/// The file of a skill, spelled just so (§7.1).
const SKILL_FILE: &str = "SKILL.md";
/// Skills of an extension: models are told of each.
const MOST_SKILLS: usize = 200;
/// Entries of the folder of skills that are looked at.
const MOST_ENTRIES: usize = 2_000;
/// Sentences that are told of one: nobody reads more.
const MOST_TOLD: usize = 50;
/// At the top of extensions of other products, what they would do there and what has no effect here.
const IDLE: [(&str, &str); 11] = [
    ("gemini-extension.json", "the manifest of another product"),
    (".claude-plugin", "the manifest of another product"),
    (".mcp.json", "servers, which are read from mcp.json"),
    ("hooks", "hooks"),
    ("agents", "agents"),
    ("commands", "commands"),
    ("policies", "policies"),
    ("rules", "rules"),
    ("templates", "templates"),
    (".lsp.json", "language servers"),
    ("output-styles", "output styles"),
];

/// An extension, read whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionPackage {
    pub manifest: PluginManifest,
    /// Sorted by name.
    pub skills: Vec<PackagedSkill>,
    /// The servers in the order of the file.
    pub servers: Vec<PackagedServer>,
    /// Sentences about what is ignored or skipped, and why.
    pub notes: Vec<String>,
}

/// A skill that conforms to the published rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedSkill {
    /// The name of its folder, too.
    pub name: String,
    pub description: String,
    /// Below the extension's folder.
    pub folder: PathBuf,
    /// The digest of the bytes of its `SKILL.md`.
    pub digest: String,
}

impl ExtensionPackage {
    /// Reads a folder in which no link leads out; its path is absolute and without links. Blocks on the file system.
    pub fn read(folder: &Path) -> Result<ExtensionPackage, PackageFault> {
        let (manifest, mut notes) = PluginManifest::read(folder)?;
        let (skills, more) = read_skills(folder);
        notes.extend(more);
        let (servers, more) = servers::read(folder);
        notes.extend(more);
        let is_there = |(name, _): &&(&str, &str)| fs::symlink_metadata(folder.join(name)).is_ok();
        let idle = IDLE.iter().filter(is_there);
        notes.extend(
            idle.map(|(name, what)| format!("`{name}` ({what}) is ignored: it has no effect here yet")),
        );
        let more = notes.len().saturating_sub(MOST_TOLD);
        notes.truncate(MOST_TOLD);
        notes.extend((more != 0).then(|| format!("{more} more faults are not told")));
        Ok(ExtensionPackage { manifest, skills, servers, notes })
    }
}

fn read_skills(folder: &Path) -> (Vec<PackagedSkill>, Vec<String>) {
    let place = folder.join(SKILLS);
    if fs::symlink_metadata(&place).is_err() {
        return (Vec::new(), Vec::new());
    }
    if !place.is_dir() {
        return (Vec::new(), vec![format!("`{SKILLS}` is no folder; it has no skills")]);
    }
    let mut names: Vec<String> = match fs::read_dir(&place) {
        Ok(entries) => entries
            .take(MOST_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect(),
        Err(error) => return (Vec::new(), vec![format!("`{SKILLS}` cannot be read: {error}")]),
    };
    names.sort();
    let (mut skills, mut told) = (Vec::new(), Vec::new());
    for name in names {
        let at = place.join(&name);
        let has_file = fs::read_dir(&at).is_ok_and(|entries| {
            entries.take(MOST_ENTRIES).filter_map(Result::ok).any(|entry| entry.file_name() == SKILL_FILE)
        });
        if !has_file || !at.join(SKILL_FILE).is_file() {
            continue;
        }
        if skills.len() == MOST_SKILLS {
            told.push(format!("it has more than {MOST_SKILLS} skills; the rest is skipped"));
            break;
        }
        match read_skill(&at, &name) {
            Ok(skill) => skills.push(skill),
            Err(why) => told.push(format!("the skill {} is skipped: {why}", quoted(&name))),
        }
    }
    (skills, told)
}

fn read_skill(at: &Path, name: &str) -> Result<PackagedSkill, String> {
    let verdict = skills::validate(at);
    if let Some(found) = verdict.problems.iter().find(|it| it.severity == ProblemSeverity::Error) {
        return Err(shortened(&found.message));
    }
    let path = at.join(SKILL_FILE);
    let bytes = match regular_file::read_bounded(&path, manifest::LARGEST_FILE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Err("its file is too large".to_owned()),
        Err(error) => return Err(format!("its file cannot be read: {error}")),
    };
    let text = SkillText::read(&path, &bytes);
    let is_sound = text.file.problems.iter().all(|it| it.severity != ProblemSeverity::Error);
    // A folder that is a link is called as what it leads to.
    if !is_sound || text.file.name != name {
        return Err("its name is not that of its folder".to_owned());
    }
    Ok(PackagedSkill {
        name: text.file.name,
        description: text.file.description,
        folder: Path::new(SKILLS).join(name),
        digest: trust::digest(&bytes),
    })
}
