//! Where are settings read from, and which layer wins? (spec 12, "Settings")

use std::{ffi::OsString, path::PathBuf};

use super::{
    DaemonConfig, SetAt, SettingLayer, environment, keys,
    layer::{self, InlineSource, LayerReading, nearest_key},
    problem, providers,
};
use protocol::{FileProblem, FileProblemCode};

/// The flag of the daemon that sets one setting.
const FLAG: &str = "--set";

/// The files that settings are read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigPlaces {
    pub system: PathBuf,
    pub user: PathBuf,
}

/// All that settings are read from, as it was when the daemon started; the files are read anew each time.
#[derive(Clone, Default)]
pub struct ConfigSources {
    pub files: ConfigPlaces,
    /// The whole environment: names and values.
    pub environment: Vec<(OsString, OsString)>,
    /// Keys and values of the command line; of two with one key the later wins.
    pub flags: Vec<(String, String)>,
}

impl ConfigSources {
    /// Files and nothing else.
    pub fn files(files: ConfigPlaces) -> ConfigSources {
        ConfigSources { files, ..ConfigSources::default() }
    }
}

impl DaemonConfig {
    /// Reads all layers. A missing file is no problem; whatever is wrong is reported and left out, the rest counts.
    /// Unknown keys are warnings.
    pub fn load(sources: &ConfigSources) -> (DaemonConfig, Vec<FileProblem>) {
        load(sources, None)
    }

    /// Reads all layers anew: what is mistaken keeps the value it has now.
    pub fn reload(&self, sources: &ConfigSources) -> (DaemonConfig, Vec<FileProblem>) {
        load(sources, Some(self))
    }
}

fn load(sources: &ConfigSources, previous: Option<&DaemonConfig>) -> (DaemonConfig, Vec<FileProblem>) {
    let ConfigSources { files, environment, flags } = sources;
    let mut reading = LayerReading { config: DaemonConfig::default(), problems: Vec::new(), previous };
    reading.file(&files.system, SettingLayer::System);
    reading.file(&files.user, SettingLayer::User);
    environment::read(&mut reading, environment);
    for (key, value) in flags {
        let flag = format!("{FLAG} {key}");
        if layer::find(key).is_some() || key == providers::SECTION {
            reading.given(key, value, InlineSource::Flag(&flag));
            continue;
        }
        // On the command line it is a mistake: who typed it is still there.
        let message = format!("there is no setting `{key}`");
        let mut unknown = problem(flag.as_ref(), None, FileProblemCode::UnknownField, message);
        unknown.fix = match keys::key_within(key) {
            Some(key) => Some(format!("name one of its keys, e.g. `{key}`")),
            None => nearest_key(key).map(|key| format!("did you mean `{key}`?")),
        };
        reading.problems.push(unknown);
    }
    (reading.config, reading.problems)
}

/// True if a problem is one of the command line.
pub fn is_of_a_flag(problem: &FileProblem) -> bool {
    problem.path.to_str().is_some_and(|path| path.starts_with(FLAG))
}

impl SetAt {
    /// For people: `FILE:LINE:COLUMN`, `$VARIABLE`, or the flag.
    pub fn told(&self) -> String {
        match self {
            SetAt::File { path, mark } => format!("{}:{}:{}", path.display(), mark.line, mark.column),
            SetAt::Variable(name) => format!("${name}"),
            SetAt::Flag(flag) => flag.clone(),
        }
    }
}
