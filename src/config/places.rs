//! Where do settings, state and socket lie? (spec 12, "Settings"; XDG base directory specification)

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::ConfigPlaces;

/// The system's settings file.
const SYSTEM_SETTINGS: &str = "/etc/subagentd/settings.json";

/// The system's rule files (spec 06, "Policy").
const SYSTEM_POLICIES: &str = "/etc/subagentd/policies";

/// The folders and the socket of one user's daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonPlaces {
    /// `settings.json`, `agents/`, `policies/`, `templates/`.
    pub config_dir: PathBuf,
    /// The database, its lock, artifacts and trash.
    pub state_dir: PathBuf,
    /// Extensions, and what their programs write.
    pub data_dir: PathBuf,
    /// Where the daemon listens when nobody says otherwise.
    pub socket: PathBuf,
    /// The user's; `None` when the environment does not say.
    pub home: Option<PathBuf>,
}

/// Neither the XDG variables nor `HOME` say where this user's files lie.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell where to keep {what}: set {variable} or HOME to an absolute path")]
pub struct NoHome {
    /// What has no place.
    pub what: &'static str,
    /// The variable that would give it one.
    pub variable: &'static str,
}

impl DaemonPlaces {
    /// Takes the places from the environment. A variable that is empty or no absolute path counts as unset,
    /// as the XDG specification demands.
    pub fn from_env(variable: &dyn Fn(&str) -> Option<OsString>, uid: u32) -> Result<DaemonPlaces, NoHome> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = |what, name: &'static str, below_home: &str| {
            let base = absolute(name).or_else(|| Some(absolute("HOME")?.join(below_home)));
            base.map(|base| base.join("subagentd")).ok_or(NoHome { what, variable: name })
        };
        let socket = match absolute("XDG_RUNTIME_DIR") {
            Some(runtime) => runtime.join("subagentd/subagentd.sock"),
            None => PathBuf::from(format!("/tmp/subagentd-{uid}/subagentd.sock")),
        };
        let state_dir = folder("state", "XDG_STATE_HOME", ".local/state")?;
        // Whoever says where state lies and has no home has all of it there.
        let data_dir =
            folder("data", "XDG_DATA_HOME", ".local/share").unwrap_or_else(|_| state_dir.join("data"));
        Ok(DaemonPlaces {
            config_dir: folder("settings", "XDG_CONFIG_HOME", ".config")?,
            state_dir,
            data_dir,
            socket,
            home: absolute("HOME"),
        })
    }

    /// The folders of rule files: the system's and the user's.
    pub fn policies(&self) -> (PathBuf, PathBuf) {
        (PathBuf::from(SYSTEM_POLICIES), self.config_dir.join("policies"))
    }

    /// The settings files.
    pub fn settings(&self) -> ConfigPlaces {
        ConfigPlaces {
            system: Path::new(SYSTEM_SETTINGS).to_owned(),
            user: self.config_dir.join("settings.json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(variables: &[(&str, &str)]) -> Result<DaemonPlaces, NoHome> {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        DaemonPlaces::from_env(&lookup, 1000)
    }

    #[test]
    fn xdg_variables_name_the_places() {
        let found = places(&[
            ("XDG_CONFIG_HOME", "/c"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
        ])
        .unwrap();
        assert_eq!(found.data_dir, Path::new("/s/subagentd/data"), "there is no other place");
        assert_eq!(found.config_dir, Path::new("/c/subagentd"));
        assert_eq!(found.state_dir, Path::new("/s/subagentd"));
        assert_eq!(found.socket, Path::new("/run/user/1000/subagentd/subagentd.sock"));
        assert_eq!(found.settings().user, Path::new("/c/subagentd/settings.json"));
        assert_eq!(found.settings().system, Path::new("/etc/subagentd/settings.json"));
    }

    #[test]
    fn home_stands_in_for_variables_that_are_unset_empty_or_relative() {
        for unusable in ["", "relative/path"] {
            let found = places(&[
                ("HOME", "/home/ada"),
                ("XDG_CONFIG_HOME", unusable),
                ("XDG_RUNTIME_DIR", unusable),
            ])
            .unwrap();
            assert_eq!(found.config_dir, Path::new("/home/ada/.config/subagentd"));
            assert_eq!(found.state_dir, Path::new("/home/ada/.local/state/subagentd"));
            assert_eq!(found.data_dir, Path::new("/home/ada/.local/share/subagentd"));
            assert_eq!(found.socket, Path::new("/tmp/subagentd-1000/subagentd.sock"));
        }
    }

    #[test]
    fn without_a_home_the_missing_place_is_named() {
        let error = places(&[("XDG_CONFIG_HOME", "/c")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot tell where to keep state: set XDG_STATE_HOME or HOME to an absolute path"
        );
    }
}
