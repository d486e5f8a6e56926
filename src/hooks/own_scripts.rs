//! Which files do hooks of the owner's own settings run, whichever workspace they are asked in?
//!
//! Such hooks run outside of a sandbox, so an agent must not write what they run: neither where they are asked nor in another
//! workspace. The files of the workspace that asks are held to what a person trusted there ([`pins`](super::pins)).

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{
    HookHandler, HookPlaces, HookState, WorkspaceReach, pins,
    reach::{self, HookText, TouchedFiles},
    read_hooks,
};
use sys::{
    own_ground::OwnGround,
    owner_programs::{OwnerScript, interpreter_of},
    programs::folders_of_person,
    worked_folders::WorkedFolders,
};
use trust::TrustRecords;

/// Variables that lead to folders of the person's own.
const FOLDERS: &[&str] = &["CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "HOME"];

/// Folders of one command to which it may go before it runs something.
const MOST_FOLDERS: usize = 16;

/// The commands of all hooks that run outside of a sandbox in every workspace. `environment`: the daemon's own. Blocks on the file
/// system.
pub fn own_scripts(places: &HookPlaces, environment: &[(OsString, OsString)]) -> Vec<OwnerScript> {
    let everywhere = HookPlaces { roots: Vec::new(), ..places.clone() };
    let read = read_hooks(&everywhere, &[], &TrustRecords::default());
    let own = read.set.hooks().iter();
    let own = own.filter(|hook| hook.origin.is_own() && hook.state != HookState::Untrusted);
    let variable = |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let folders =
        folders_of_person(variable("PATH").map(OsString::as_os_str), variable("HOME").map(Path::new));
    own.filter_map(|hook| of_handler(&hook.handler, environment, &folders)).collect()
}

/// The command of one hook. `program_folders`: in which programs are found by their names. `None` when it names no file that counts from nowhere.
pub(super) fn of_handler(
    handler: &HookHandler,
    environment: &[(OsString, OsString)],
    program_folders: &[PathBuf],
) -> Option<OwnerScript> {
    let HookHandler::Command { command, args } = handler else { return None };
    let texts = || std::iter::once(command).chain(args.iter().flatten());
    let pieces: Vec<String> = texts().flat_map(|text| pins::pieces(text)).collect();
    let absolute =
        |piece: &String| Some(PathBuf::from(filled(piece, environment))).filter(|it| it.is_absolute());
    let mut named: Vec<PathBuf> = pieces.iter().filter_map(absolute).collect();
    let names = pieces.iter().filter(|piece| !piece.contains(['/', '$', '~']));
    named.extend(names.flat_map(|name| found(name, program_folders)));
    // `cd FOLDER && ./x.sh`
    let folders: Vec<PathBuf> =
        named.iter().filter(|path| path.is_dir()).take(MOST_FOLDERS).cloned().collect();
    let relative = pieces.iter().filter(|piece| !piece.starts_with(['/', '~', '$']));
    named.extend(relative.flat_map(|piece| folders.iter().map(move |folder| folder.join(piece))));
    named.sort();
    named.dedup();
    let run = touched(handler, &[], environment).run;
    if named.is_empty() && run.is_empty() {
        return None;
    }
    let words = std::iter::once("hook".to_owned()).chain(texts().cloned()).collect();
    Some(OwnerScript { words, name: format!("the hook `{}`", handler.shown()), named, run })
}

/// The files that the command of a hook names and runs, as far as it is read.
fn touched(handler: &HookHandler, roots: &[String], environment: &[(OsString, OsString)]) -> TouchedFiles {
    let HookHandler::Command { command, args } = handler else { return TouchedFiles::default() };
    let value = |name: &str| value_of(name, environment);
    let home = value("HOME").map(PathBuf::from).unwrap_or_default();
    reach::touched(HookText { command, args: args.as_deref() }, roots, &home, Some(&value))
}

/// The reason why a hook whose text alone would leave it out of a sandbox is confined now, as [`WorkspaceReach::Led`] has it: it reads, writes
/// or runs what agents of whatever session may have made. `roots`: the workspace's folders. Blocks on the file system.
pub(super) fn led_astray(
    handler: &HookHandler,
    roots: &[PathBuf],
    environment: &[(OsString, OsString)],
    (program_folders, worked): (&[PathBuf], &WorkedFolders),
) -> Option<String> {
    let HookHandler::Command { command, args } = handler else { return None };
    let roots: Vec<String> = roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
    let value = |name: &str| value_of(name, environment);
    let home = value("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    // Without a shell nothing but `${HOME}` is filled in.
    let by_home = match args {
        None => command.contains('~') || command.contains("HOME"),
        Some(args) => std::iter::once(command).chain(args).any(|word| word.contains("${HOME}")),
    };
    if home.is_none() && by_home {
        return Some("the daemon's environment has no HOME, and its command names files by it".to_owned());
    }
    let ground = OwnGround::of_process(worked, home.as_deref());
    let text = HookText { command, args: args.as_deref() };
    if let WorkspaceReach::CouldRun { words } = reach::of_hook(
        text,
        &roots,
        (home.as_deref().unwrap_or(Path::new("/")), program_folders),
        Some(&value),
    ) {
        return Some(format!("`{words}` in its command is not known to be harmless"));
    }
    let files = touched(handler, &roots, environment);
    if let Some(path) = files.named.iter().find(|path| ground.is_of_agents(path)) {
        return Some(format!(
            "its command names {}, which lies in a folder in which agents work",
            path.display()
        ));
    }
    // Whatever language it is in: what it loads from around it nobody has looked at.
    if let Some(led) = files.run.iter().find(|path| ground.is_of_agents(path)) {
        return Some(format!("it runs {}, which lies in a folder in which agents work", led.display()));
    }
    let words = || std::iter::once(command).chain(args.iter().flatten()).map(String::as_str);
    let led = files.run.iter().find(|path| ground.takes_from_agents_above(path, words()))?;
    Some(format!(
        "it runs {}, whose interpreter takes modules from all folders above it, and agents work in one of those",
        led.display()
    ))
}

fn value_of(name: &str, environment: &[(OsString, OsString)]) -> Option<String> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_string_lossy().into_owned())
}

/// Files elsewhere that run where a program is named by its name alone. The folders of programs themselves are kept from agents; what
/// a link in them leads to, or what a script in them is run by, may lie where agents work.
fn found(name: &str, folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_elsewhere = |path: &PathBuf| {
        path.canonicalize().is_ok_and(|real| !folders.iter().any(|folder| real.starts_with(folder)))
    };
    let programs: Vec<PathBuf> =
        folders.iter().map(|folder| folder.join(name)).filter(|path| path.is_file()).collect();
    let interpreters = programs.iter().filter_map(|program| interpreter_of(program));
    programs.iter().cloned().chain(interpreters).filter(is_elsewhere).collect()
}

/// A word with the folders in it that its variables mean.
fn filled(piece: &str, environment: &[(OsString, OsString)]) -> String {
    let value = |name: &str| value_of(name, environment);
    let text = match (piece.strip_prefix("~/"), value("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below).to_string_lossy().into_owned(),
        _ => piece.to_owned(),
    };
    FOLDERS.iter().fold(text, |text, name| match value(name) {
        Some(folder) => text.replace(&format!("${{{name}}}"), &folder).replace(&format!("${name}"), &folder),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_whatever_way_a_command_names_them() {
        let environment: Vec<(OsString, OsString)> =
            [("HOME", "/h/me"), ("CLAUDE_PLUGIN_ROOT", "/h/me/plugins/x")]
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec();
        for (command, args, expected) in [
            ("~/dotfiles/guard.sh", None, "/h/me/dotfiles/guard.sh"),
            ("python3 \"$HOME/dotfiles/guard.py\" --fast", None, "/h/me/dotfiles/guard.py"),
            ("exec ${CLAUDE_PLUGIN_ROOT}/run", None, "/h/me/plugins/x/run"),
            ("cd /usr&&./bin/env", None, "/usr/./bin/env"),
            ("node", Some(vec!["${HOME}/g.mjs"]), "/h/me/g.mjs"),
            ("/opt/guard", Some(vec![]), "/opt/guard"),
        ] {
            let args = args.map(|args| args.into_iter().map(str::to_owned).collect());
            let handler = HookHandler::Command { command: command.to_owned(), args };
            let script = of_handler(&handler, &environment, &[]).unwrap();
            assert!(script.named.contains(&PathBuf::from(expected)), "{command}: {:?}", script.named);
        }
    }

    #[test]
    fn a_program_that_is_named_by_its_name_is_what_its_link_or_first_line_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["bin", "dotfiles"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        std::fs::write(path("dotfiles/guard"), "#!/bin/sh\n").unwrap();
        std::os::unix::fs::symlink(path("dotfiles/guard"), path("bin/linked")).unwrap();
        std::fs::write(path("bin/run"), format!("#!{}\n", path("dotfiles/guard").display())).unwrap();
        std::fs::write(path("bin/own"), "#!/bin/sh\n").unwrap();
        let folders = [path("bin").canonicalize().unwrap()];
        let named = |command: &str| {
            let handler = HookHandler::Command { command: command.to_owned(), args: None };
            of_handler(&handler, &[], &folders).map(|script| script.named).unwrap_or_default()
        };
        assert!(named("linked --x").contains(&folders[0].join("linked")));
        assert!(named("run").contains(&path("dotfiles/guard")));
        // The folder itself is kept from agents.
        assert!(named("own | nothing").iter().all(|path| path.ends_with("sh")));
    }
}
