//! The environment of a command: what it needs, and no secrets.

use std::{ffi::OsString, path::Path};

use redact::Redactor;

/// Variables that every program may know. `LC_…` are among them.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLORTERM",
    "NO_COLOR",
    "EDITOR",
];

/// Set for every command, so that scripts can tell that an agent runs them.
pub const MARKER: &str = "SUBAGENTD";

/// What keeps programs from waiting for somebody who is not there.
const SET: &[(&str, &str)] = &[
    (MARKER, "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    // A folder that somebody committed is no repository by looking like one: its settings would name programs that git runs.
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// Folders below the home where people install programs, which a daemon that was started by the system does not have in
/// its `PATH`.
const OWN_PROGRAMS: &[&str] = &[".local/bin", ".cargo/bin", "bin", "go/bin"];

/// Names and values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandEnvironment {
    pub variables: Vec<(String, String)>,
    /// Names that somebody wanted passed on, and whose values are secrets.
    pub withheld: Vec<String>,
}

impl CommandEnvironment {
    /// Of the daemon's environment what a command may have: the usual, and what the setting `sandbox.environment` names,
    /// but for what is known to be a secret.
    pub fn of(all: &[(OsString, OsString)], named: &[String], redactor: &Redactor) -> CommandEnvironment {
        let mut environment = CommandEnvironment::default();
        for (name, value) in all {
            // What is no text cannot be told to the warden.
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            let is_named = named.iter().any(|wanted| wanted == name);
            if !is_named && !PASSED.contains(&name) && !name.starts_with("LC_") {
                continue;
            }
            if redactor.text(value) != value
                || redactor.text(&format!("{name}={value}")) != format!("{name}={value}")
            {
                environment.withheld.push(name.to_owned());
            } else {
                environment.set(name, value);
            }
        }
        for (name, value) in SET {
            environment.set(name, value);
        }
        environment.add_own_programs();
        environment
    }

    /// Passes on what was withheld of `named`: to what a person runs outside of a sandbox, which could read it anyway.
    pub fn pass_withheld(&mut self, all: &[(OsString, OsString)], named: &[String]) {
        for name in std::mem::take(&mut self.withheld) {
            let value = all.iter().find(|(other, _)| *other == *name).and_then(|(_, value)| value.to_str());
            match value.filter(|_| named.contains(&name)) {
                Some(value) => self.set(&name, value),
                None => self.withheld.push(name),
            }
        }
    }

    /// Sets one, in place of what was there.
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn add_own_programs(&mut self) {
        let Some(home) = self.get("HOME").map(str::to_owned) else { return };
        let mut path = self.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").to_owned();
        for folder in OWN_PROGRAMS.iter().map(|name| Path::new(&home).join(name)) {
            let folder = folder.to_string_lossy().into_owned();
            if !path.split(':').any(|other| other == folder) && Path::new(&folder).is_dir() {
                path = format!("{path}:{folder}");
            }
        }
        self.set("PATH", &path);
    }
}
