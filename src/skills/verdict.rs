//! Is a folder a skill as the published rules want it?

use std::path::{Path, PathBuf};

use super::{
    file::{LARGEST_FILE, SkillText},
    rules,
};
use agents::FrontMatterReading;
use config::{TextPosition, problem, read_bounded};
use protocol::{
    FileProblem,
    FileProblemCode::{BadYaml, MissingField, NoFrontMatter, Unreadable},
    ProblemSeverity,
};

/// The verdict of the rules on one folder.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillVerdict {
    /// The file; the folder where it has none.
    pub path: PathBuf,
    /// Nothing in it is against the rules.
    pub is_valid: bool,
    /// Each that is against them is an error; what is odd otherwise is a warning.
    pub problems: Vec<FileProblem>,
}

/// Checks the skill in a folder. Blocks on the file system.
pub fn validate(folder: &Path) -> SkillVerdict {
    let failed = |path: &Path, found: FileProblem| SkillVerdict {
        path: path.to_owned(),
        is_valid: false,
        problems: vec![found],
    };
    if !folder.is_dir() {
        let message = if folder.exists() { "is not a folder" } else { "is not there" };
        return failed(folder, problem(folder, None, Unreadable, message));
    }
    let there = rules::FILE_NAMES.iter().map(|name| folder.join(name)).find(|path| path.exists());
    let Some(path) = there else {
        return failed(folder, problem(folder, None, Unreadable, "has no file `SKILL.md`"));
    };
    let bytes = match read_bounded(&path, LARGEST_FILE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return failed(&path, problem(&path, None, Unreadable, "is not there")),
        Err(found) => return failed(&path, found),
    };
    let FrontMatterReading { fields, is_yaml, problems: read, .. } = FrontMatterReading::of(&path, &bytes);
    let name = folder.canonicalize().ok().and_then(|it| Some(it.file_name()?.to_string_lossy().into_owned()));
    let mut problems = Vec::new();
    if !bytes.starts_with(b"---") {
        let message = "must begin with `---`: nothing may stand before the front matter";
        problems.push(problem(&path, Some(TextPosition { line: 1, column: 1 }), NoFrontMatter, message));
    } else if !is_yaml {
        problems.push(problem(&path, None, BadYaml, "the front matter is not YAML"));
    }
    match &fields {
        Some(fields) => problems.extend(rules::violations(&path, fields, &name.unwrap_or_default())),
        None if problems.is_empty() => problems.extend(read.iter().cloned()),
        None => {}
    }
    let is_valid = problems.is_empty();
    // What else is to be told, once. That there is no front matter is told in one way.
    let lenient = SkillText::read(&path, &bytes).file.problems;
    let has_none = problems.iter().any(|known| known.code == NoFrontMatter);
    let is_told = |it: &FileProblem| {
        has_none && it.code == NoFrontMatter
            || problems.iter().any(|known| (known.line, &known.message) == (it.line, &it.message))
    };
    let more: Vec<FileProblem> = lenient.into_iter().filter(|it| !is_told(it)).collect();
    let warnings = more.into_iter().map(|it| FileProblem { severity: ProblemSeverity::Warning, ..it });
    problems.extend(warnings.filter(|it| is_valid || it.code != MissingField));
    SkillVerdict { path, is_valid, problems }
}
