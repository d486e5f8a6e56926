//! May a server's program be run, with its files as they are now? (spec 07, "Security"; 11, "Untrusted workspaces")
//!
//! An entry is trusted by its words; but a word that names a file of the workspace means whatever stands in that file, which an
//! agent may write. So a server of a project, or of an agent, runs such files as somebody acknowledged them and not otherwise,
//! and one of the user's own only in a workspace that they trust. It is looked at each time before a program is started. What
//! such files load in their turn is not looked at; so a program whose workspace nobody trusts runs in a folder of its own.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{McpHost, McpServerInstance};
use crate::mcp::origin::ServerOrigin;
use crate::{digest, work};
use config::expand;
use project::ProjectReader;
use protocol::{McpPin, McpServerConfig, McpTransport};
use sys::regular_file;
use trust::AcknowledgementState;

/// Commands that get a package and run it.
const RUNNERS: &[&str] = &["npx", "bunx", "pnpx", "pnpm", "yarn", "npm", "bun", "uvx", "uv", "pipx"];
/// Largest program of which a digest is made: each start reads it.
const LARGEST_PROGRAM: u64 = 512 << 20;

impl McpServerInstance {
    /// Whether it runs in the workspace's first folder where its entry says nothing. One of the user's own does not, in any
    /// workspace: what programs load from their folder would be code that an agent may write, run with the user's keys.
    pub(super) fn may_run_in_workspace(&self, host: &Arc<dyn McpHost>) -> bool {
        if matches!(self.origin, ServerOrigin::User | ServerOrigin::Extension(_)) {
            return false;
        }
        let trust = host.projects().trust();
        self.roots.iter().all(|root| trust.is_trusted(root))
    }

    /// Why it must not be run, if it must not.
    pub(super) async fn refused(&self, host: &Arc<dyn McpHost>) -> Option<String> {
        let is_projects =
            matches!(self.origin, ServerOrigin::Project | ServerOrigin::Agent { of_project: true, .. });
        if is_projects && let Some(name) = own_key(&self.entry.transport, &host.rules().own_keys) {
            return Some(format!(
                "it asks for ${{{name}}}, a key of this daemon's own, which no project's server is given; if it is to have it, \
                 put the server into your own settings"
            ));
        }
        if !self.entry.is_program() {
            return None;
        }
        if let ServerOrigin::Extension(origin) = &self.origin {
            let (host, origin) = (Arc::clone(host), origin.clone());
            return work::aside(move || host.extension_fault(&origin.extension, &origin.digest)).await;
        }
        let (projects, roots, entry) = (host.projects().clone(), self.roots.clone(), self.entry.clone());
        let (origin, environment) = (self.origin.clone(), host.commands().environment().to_vec());
        let refused = work::aside(move || {
            unread(&projects, &roots, &entry, &origin)
                .or_else(|| other_than_pinned(&entry, &roots, &environment))
        });
        match refused.await {
            Some(why) => Some(why),
            None => self.other_than_noted(host).await,
        }
    }
}

/// A variable of these that the entry wants to be filled in.
fn own_key<'a>(transport: &McpTransport, own_keys: &'a [String]) -> Option<&'a String> {
    let texts: Vec<&String> = match transport {
        McpTransport::Stdio { command, args, env, cwd } => {
            [command].into_iter().chain(args).chain(env.values()).chain(cwd).collect()
        }
        McpTransport::Http { url, headers } => [url].into_iter().chain(headers.values()).collect(),
    };
    let names = |name: &String, text: &str| {
        text.split("${").skip(1).any(|rest| rest.split(['}', ':']).next() == Some(name.as_str()))
    };
    own_keys.iter().find(|name| texts.iter().any(|text| names(name, text)))
}

/// A file of the workspace that it would be started with, and that may not be run.
fn unread(
    projects: &ProjectReader,
    roots: &[String],
    entry: &McpServerConfig,
    origin: &ServerOrigin,
) -> Option<String> {
    let programs = projects.programs_of_server(roots, &entry.transport).programs;
    let trust = projects.trust();
    let untrusted = roots.iter().find(|root| !trust.is_trusted(root));
    if let (ServerOrigin::Agent { of_project: true, .. }, Some(root)) = (origin, untrusted) {
        return Some(format!(
            "its agent comes with {root}, which no person trusts any more (`subagent trust`)"
        ));
    }
    if let (McpTransport::Stdio { cwd: Some(cwd), .. }, Some(root)) = (&entry.transport, untrusted) {
        let directory = roots.first().map(|first| Path::new(first).join(cwd));
        let directory = directory.and_then(|it| it.canonicalize().ok());
        if directory.is_some_and(|it| it.starts_with(root)) {
            return Some(format!("its `cwd` is in {root}, which no person has trusted (`subagent trust`)"));
        }
    }
    match origin {
        ServerOrigin::User => {
            let program = programs.iter().find(|program| !trust.is_trusted(&program.root))?;
            Some(format!(
                "it is started with {}, a file of this workspace, which no person has trusted (`subagent trust`)",
                program.path
            ))
        }
        // Its own files are looked at whole, and it takes none of a workspace.
        ServerOrigin::Extension(_) => None,
        ServerOrigin::Project | ServerOrigin::Agent { .. } => {
            let program = programs.iter().find(|program| program.consent != AcknowledgementState::Now)?;
            Some(format!(
                "it is started with {}, which no person has acknowledged as it is now (`subagent trust`)",
                program.path
            ))
        }
    }
}

/// Whether the program is another one than its pin says. Reads the program.
fn other_than_pinned(
    entry: &McpServerConfig,
    roots: &[String],
    environment: &[(OsString, OsString)],
) -> Option<String> {
    let McpPin { command: pinned, version } = entry.pin.as_ref()?;
    let McpTransport::Stdio { command, args, env, cwd } = &entry.transport else { return None };
    // What cannot be filled in is told when it is started.
    let fill = |text: &String| expand(text, environment).ok();
    let command = fill(command)?;
    if let Some(version) = version {
        let runner = Path::new(&command).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let names = |argument: &String| {
            let parted = argument.rsplit_once("==").or_else(|| argument.rsplit_once('@'));
            parted.is_some_and(|(_, named)| named == version)
        };
        if RUNNERS.contains(&runner) && !args.iter().filter_map(fill).any(|argument| names(&argument)) {
            return Some(format!(
                "its pin says version {version}, and `{runner}` may take another: name the package with its version in `args`"
            ));
        }
    }
    let pinned = pinned.as_ref()?;
    let directory = cwd.as_ref().and_then(fill).unwrap_or_default();
    let directory =
        roots.first().map_or_else(|| PathBuf::from(&directory), |root| Path::new(root).join(&directory));
    let path = match env.get("PATH") {
        Some(path) => fill(path).map(OsString::from),
        None => environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()),
    };
    let Some(program) = program(&command, &directory, path) else {
        return Some(format!("its pin names what `{command}` is, and there is none of that name"));
    };
    match digest_of(&program) {
        Some(digest) if digest == *pinned => None,
        Some(digest) => Some(format!(
            "{} is another one than its pin says: it has {digest}; if that is right, write it into the entry",
            program.display()
        )),
        None => Some(format!("its pin names what `{command}` is, and it cannot be read")),
    }
}

/// The file that a command is.
fn program(command: &str, directory: &Path, path: Option<OsString>) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(directory.join(command));
    }
    let is_program = |file: &PathBuf| {
        fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(&path?).map(|folder| folder.join(command)).find(is_program)
}

fn digest_of(program: &Path) -> Option<String> {
    regular_file::read_bounded(program, LARGEST_PROGRAM).ok().flatten().map(|bytes| digest::of(&bytes))
}
