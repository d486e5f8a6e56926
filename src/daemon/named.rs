//! Which programs and secrets do the settings name, and who is told of them? (spec 11)
//!
//! They are looked up when the settings are read: programs are noted as they are, files with keys are kept from agents, and
//! every key that is read is hidden from then on.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use tokio::task::JoinError;

use super::{confirmation_router, guarded_places::credentials_of_agents, hook_places, rpc::TOKEN_FILE};
use config::{ConfigSources, DaemonConfig, KeySource, SystemFileChoice};
use hooks::HookPlaces;
use redact::KnownSecrets;
use rules::RulePlaces;
use sys::{
    key_file,
    named_files::{NamedFileLists, NamedFiles},
    owner_programs::{OwnerPrograms, OwnerProgramsLookup, files_read},
};
use tools::ProgramLog;

/// Most bytes of a file that may be a key: longer ones are none.
const MOST_KEY_BYTES: u64 = 64 << 10;

/// What the settings name.
pub(super) struct SettingsReferences {
    programs: Vec<Vec<String>>,
    /// The places where the owner's own hooks are looked for.
    hooks: HookPlaces,
    environment: Vec<(OsString, OsString)>,
    /// The words of those programs that print keys.
    key_commands: Vec<Vec<String>>,
    /// What each file is for.
    keys: Vec<(String, PathBuf)>,
    /// What agents are told: an agent that wrote it would say what the next one is.
    prompts: Vec<PathBuf>,
    home: Option<PathBuf>,
    state_dir: PathBuf,
}

impl SettingsReferences {
    pub fn in_settings(
        config: &DaemonConfig,
        (sources, rules): (&ConfigSources, &RulePlaces),
        state_dir: &Path,
    ) -> SettingsReferences {
        let environment = &sources.environment;
        let hooks = hook_places::places_of(config, sources, rules, &[]);
        let (mut key_commands, mut keys) = (Vec::new(), Vec::new());
        let mut place = |name: String, source: &KeySource| match source {
            KeySource::File(path) => keys.push((name, path.clone())),
            KeySource::Command(words) => key_commands.push(words.clone()),
            KeySource::Env(_) => {}
        };
        for (entry, settings) in &config.providers {
            if let Some(key) = settings.value.as_ref().and_then(|settings| settings.key.as_ref()) {
                place(format!("PROVIDER_{entry}_KEY"), key);
            }
        }
        if let Some(key) = &config.tools.web_search.key.value {
            place("WEB_SEARCH_KEY".to_owned(), key);
        }
        if let Some(secret) = &config.approval.webhook_secret.value {
            place("WEBHOOK".to_owned(), secret);
        }
        let variable = |wanted: &str| environment.iter().find(|(name, _)| name == OsStr::new(wanted));
        if let Some((_, folder)) = variable("CREDENTIALS_DIRECTORY") {
            let folder = Path::new(folder);
            let entries =
                config.providers.keys().map(|entry| (format!("PROVIDER_{entry}_KEY"), folder.join(entry)));
            keys.extend(entries.filter(|(_, path)| path.is_file()));
        }
        let home = variable("HOME").map(|(_, home)| PathBuf::from(home)).or_else(std::env::home_dir);
        let mut prompts = match &config.prompt.system_file.value {
            SystemFileChoice::File(path) => vec![match (path.strip_prefix("~"), &home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => path.clone(),
            }],
            SystemFileChoice::Off | SystemFileChoice::Usual => Vec::new(),
        };
        let memory = config.memory.user_files.value.iter();
        prompts.extend(memory.map(|path| match (path.strip_prefix("~"), &home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.clone(),
        }));
        let environment = environment.clone();
        let mut programs = vec![config.approval.notify_command.value.clone()];
        programs.extend(key_commands.iter().cloned());
        SettingsReferences {
            programs,
            hooks,
            environment,
            key_commands,
            keys,
            prompts,
            home,
            state_dir: state_dir.to_owned(),
        }
    }

    /// Looks the programs up. Blocks on the file system.
    fn look_up(&self) -> OwnerProgramsLookup {
        let mut lookup = OwnerProgramsLookup::of(self.programs.iter().cloned());
        lookup = lookup.with_keys(self.key_commands.iter().cloned());
        lookup.add_scripts(hooks::own_scripts(&self.hooks, &self.environment));
        lookup
    }

    /// Takes the programs as they were looked up, keeps files from agents and learns keys. Blocks on the file system.
    fn take_in(
        &self,
        lookup: OwnerProgramsLookup,
        programs: &OwnerPrograms,
        files: &NamedFiles,
        secrets: &KnownSecrets,
    ) {
        programs.replace(lookup);
        let of_agents = self.home.iter().flat_map(|home| credentials_of_agents(home));
        let keys = self.keys.iter().map(|(_, path)| path.clone());
        let read_for_keys =
            self.key_commands.iter().flat_map(|words| files_read(words, self.home.as_deref()));
        files.replace(NamedFileLists {
            programs: [programs.open_files(), self.prompts.clone()].concat(),
            folders: programs.open_folders(),
            secrets: keys.chain(read_for_keys).chain(of_agents).collect(),
        });
        for (name, path) in &self.keys {
            // One that cannot be read is told where it is needed.
            if let Ok(Some(bytes)) = config::read_bounded(path, MOST_KEY_BYTES)
                && let Ok(text) = std::str::from_utf8(&bytes)
            {
                secrets.heard(name, text);
            }
        }
        learn_own(&self.state_dir, secrets);
    }
}

/// Looks up what the settings name, has the log know of what was never run before, and goes by it from then on.
pub(super) async fn take_in(
    named: SettingsReferences,
    log: &ProgramLog,
    files: &NamedFiles,
    secrets: &KnownSecrets,
) -> Result<(), JoinError> {
    let (named, lookup) = tokio::task::spawn_blocking(move || {
        let lookup = named.look_up();
        (named, lookup)
    })
    .await?;
    // Without its record a program is not run, and says so.
    if let Err(error) = log.note_new(&lookup).await {
        tracing::warn!(%error, "the files of programs that the settings name could not be noted");
    }
    let (programs, files, secrets) = (log.owner_programs().clone(), files.clone(), secrets.clone());
    tokio::task::spawn_blocking(move || named.take_in(lookup, &programs, &files, &secrets)).await
}

/// Learns what this daemon itself proves things by. Blocks on the file system.
pub(super) fn learn_own(state_dir: &Path, secrets: &KnownSecrets) {
    for file in [TOKEN_FILE, confirmation_router::KEY_FILE] {
        // One that cannot be used is told by whoever needs it.
        if let Ok(Some(key)) = key_file::read(&state_dir.join(file)) {
            secrets.heard("SUBAGENTD_TOKEN", &key);
        }
    }
}
