//! A hook that is a command: its own process group, its input on its standard input, its output within bounds.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};

use super::{HandlerParts, timed_out};
use crate::{
    Hook, HookContract, HookServices, HookWorkspace, KeptFromHook, answer::HandlerEnd,
    command_words::with_folders,
};
use protocol::{HookOutcome, SandboxProfile};
use sandbox::{
    CommandEnvironment, CommandHandle, CommandLaunch, NamedCommandParts, RunningCommand, SandboxRules,
};
use sys::{
    clock::Clock,
    warden::{CommandLimits, WardenSignal},
    worked_folders::WorkedFolders,
};

/// Bytes of standard output: a longer answer is none (spec 08).
const MAX_STDOUT: usize = 1 << 20;

/// Bytes of standard error that are kept for a reason: as many characters as any text has, each as long as can be.
const MAX_STDERR_HEAD: usize = 40_000;

/// Bytes of its end that are kept: what the log gets of it, and as much before that as a secret is long, so that it is found whole.
const MAX_STDERR_TAIL: usize = 16 << 10;

/// Bytes of standard error at which a hook is ended: it floods.
const MAX_STDERR: u64 = 64 << 20;

/// Bytes read at once.
const PIECE: usize = 16 << 10;

/// From TERM to KILL (spec 08).
const STOP_TIME: Duration = Duration::from_secs(2);

/// The longest time that one that was to be ended may take: its warden ends what it can see within a second.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Variables that keep interpreters and git from loading files of the folder that they are started in, or of the home, that nobody named: an
/// agent may have written them (python(1), perlrun(1), R's `?Startup`, git-config(1), ENVIRONMENT).
const LOADING_NOTHING: &[(&str, &str)] = &[
    ("PYTHONSAFEPATH", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("PERL_USE_UNSAFE_INC", "0"),
    ("R_PROFILE_USER", "/dev/null"),
    ("R_ENVIRON_USER", "/dev/null"),
    // A repository that an agent made below, and a setting that it is just about to add, have git run nothing for a look at it.
    ("GIT_CONFIG_COUNT", "2"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_1", "explicit"),
];

/// A place that holds no modules.
const NO_MODULES: &str = "/dev/null";

/// Starts the command; why it was not, to be read after the hook's name.
pub(super) async fn start(
    parts: &HandlerParts,
    hook: &Hook,
    (command, args): (&str, Option<&[String]>),
    input: &Value,
    workspace: &HookWorkspace,
    services: &dyn HookServices,
) -> Result<RunningHook, String> {
    let root = workspace.roots.first().cloned().ok_or("was not run: the workspace has no folder")?;
    let project = root.to_string_lossy().into_owned();
    let is_confined = hook.is_confined();
    let settings = &workspace.settings;
    let mut environment =
        CommandEnvironment::of(&parts.environment, &settings.environment, &workspace.redactor);
    // The key of a service that a person's own hook speaks to, named by the person for it.
    if !is_confined {
        environment.pass_withheld(&parts.environment, &settings.environment);
    }
    environment.set("CLAUDE_PROJECT_DIR", &project);
    environment.set("GEMINI_PROJECT_DIR", &project);
    // Hooks of Claude Code's ask whether they are run as such.
    if hook.contract == HookContract::Claude {
        environment.set("CLAUDECODE", "1");
        if let Some(session) = input.get("session_id").and_then(Value::as_str) {
            environment.set("CLAUDE_CODE_SESSION_ID", session);
        }
    }
    // What an agent puts into the workspace is no program of a hook's, and no module, by its name alone.
    let (finder, roots) = (parts.clone(), workspace.roots.clone());
    let path = tokio::task::spawn_blocking(move || finder.path_outside(&roots)).await;
    environment.set("PATH", &path.map_err(|error| format!("was not run: its PATH is not known: {error}"))?);
    let texts = || std::iter::once(command).chain(args.into_iter().flatten().map(String::as_str));
    // A module that a confined hook names is one of the folder that it is started in.
    if !(is_confined && runs_module(texts())) {
        LOADING_NOTHING.iter().for_each(|(name, value)| environment.set(name, value));
        // Python takes modules from beside a script no more either, so it is told where that is.
        let worked = parts.owner_programs.worked_folders();
        let folders = match is_confined {
            true => {
                module_folders(texts(), &environment, (&[], &WorkedFolders::default()), &workspace.roots)
                    .await
            }
            false => module_folders(texts(), &environment, (&workspace.roots, &worked), &[]).await,
        };
        // Never empty: `PYTHONPATH=$PYTHONPATH:/x` would begin with the folder that it is started in.
        let path = if folders.is_empty() { NO_MODULES.to_owned() } else { folders.join(":") };
        environment.set("PYTHONPATH", &path);
    }
    let words: Vec<String> = match args {
        // Outside of a sandbox the shell is the system's, whatever lies in a folder of the person's own.
        None if !is_confined => vec![parts.shell.clone(), "-c".to_owned(), command.to_owned()],
        None => vec!["bash".to_owned(), "-c".to_owned(), command.to_owned()],
        Some(args) => {
            // No shell fills these in.
            let fill = |text: &str| filled(text, &environment);
            std::iter::once(fill(command)).chain(args.iter().map(|arg| fill(arg))).collect()
        }
    };
    let readable = readable(workspace);
    let (rules, kept) = if is_confined {
        if workspace.temporary.as_os_str().is_empty() {
            return Err("was not run: there is no folder for its temporary files".to_owned());
        }
        let profile = settings.sandbox.profile.min(SandboxProfile::WorkspaceWrite);
        let text = if args.is_some() { sys::words::written(&words) } else { command.to_owned() };
        let text = with_folders(&text, |name| environment.get(name).map(sys::words::quoted));
        let mut kept = services.kept_from_hook(&text).await.map_err(|why| format!("was not run: {why}"))?;
        // What may be read although it is hidden is not written where it lies in a root.
        let is_within = |path: &&PathBuf| workspace.roots.iter().any(|root| path.starts_with(root));
        kept.paths.extend(readable.iter().filter(is_within).cloned());
        // Unasked and unconfined nothing of a project runs, whatever commands of agents may where there is no sandbox.
        (SandboxRules { profile, required: true, ..settings.sandbox }, kept)
    } else {
        let unconfined = SandboxRules {
            profile: SandboxProfile::Full,
            network: true,
            required: false,
            limits: CommandLimits::default(),
        };
        (unconfined, KeptFromHook::default())
    };
    let mut line = input.to_string().into_bytes();
    line.push(b'\n');
    let launch = CommandLaunch {
        // The command is a person's, so what it names is seen where it lies.
        named: NamedCommandParts { words: named(&words, args.is_some()), ..NamedCommandParts::default() },
        words,
        directory: root,
        environment,
        roots: workspace.roots.clone(),
        known_roots: Vec::new(),
        temporary: workspace.temporary.clone(),
        readable,
        own_data: None,
        read_only: kept.paths,
        stays: kept.stays,
        sockets: Vec::new(),
        rules,
        terminal: None,
        input: line,
    };
    let mut running = parts.sandbox.start(launch).await.map_err(|error| format!("was not run: {error}"))?;
    if let Some(hold) = kept.hold {
        running.hold.keep_beside(hold).map_err(|error| format!("cannot be watched: {error}"))?;
    }
    Ok(RunningHook::of(running, Arc::clone(&parts.clock)))
}

/// True of a command that has Python run a module by its name.
fn runs_module<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    texts.flat_map(str::split_whitespace).any(|word| word == "-m")
}

/// Folders from which Python may take modules: of scripts that a command names, and of the environment's `PYTHONPATH`. None of them
/// is a workspace's, be it of this run or of another, and none is one into which everybody may write. `from`: folders from which the
/// command may name a script.
async fn module_folders(
    texts: impl Iterator<Item = &str>,
    environment: &CommandEnvironment,
    (roots, worked): (&[PathBuf], &WorkedFolders),
    from: &[PathBuf],
) -> Vec<String> {
    /// Words of a command that are looked at.
    const MOST: usize = 256;
    let home = environment.get("HOME").unwrap_or_default();
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<>=".contains(letter);
    let pieces = texts.flat_map(|text| text.split(is_between)).filter(|piece| !piece.is_empty()).take(MOST);
    let paths: Vec<PathBuf> = pieces
        .map(|piece| {
            let path = filled(piece, environment).replace("${HOME}", home).replace("$HOME", home);
            PathBuf::from(path.strip_prefix("~/").map_or(path.clone(), |below| format!("{home}/{below}")))
        })
        .collect();
    // `cd FOLDER && python3 guard.py`
    let below = paths.iter().flat_map(|path| from.iter().map(move |root| root.join(path)));
    let named: Vec<PathBuf> =
        if from.is_empty() { Vec::new() } else { below.filter(|path| path.is_dir()).collect() };
    let scripts: Vec<PathBuf> = paths
        .iter()
        .flat_map(|path| from.iter().chain(&named).map(move |folder| folder.join(path)).chain([path.clone()]))
        .filter(|path| path.is_absolute())
        .collect();
    let mut folders: Vec<PathBuf> = Vec::new();
    for script in scripts {
        let Ok(script) = tokio::fs::canonicalize(script).await else { continue };
        let Ok(found) = tokio::fs::metadata(&script).await else { continue };
        // What is neither is no script: a log, say, in a folder that many write into.
        let is_script = script.extension().is_some_and(|end| end == "py") || found.mode() & 0o111 != 0;
        folders.extend(script.parent().filter(|_| found.is_file() && is_script).map(Path::to_owned));
    }
    // A relative one, or an empty one, would be the folder that the hook is started in.
    let given = environment.get("PYTHONPATH").unwrap_or_default().split(':').map(PathBuf::from);
    folders.extend(given.filter(|folder| folder.is_absolute()));
    let mut kept: Vec<String> = Vec::new();
    for folder in folders {
        let Ok(folder) = tokio::fs::canonicalize(folder).await else { continue };
        let is_closed = tokio::fs::metadata(&folder).await.is_ok_and(|it| it.mode() & 0o002 == 0);
        // What lies within another workspace is kept from its agents where the settings name it; a whole workspace cannot be.
        let is_apart = !roots.iter().any(|root| folder.starts_with(root)) && !worked.is_one(&folder);
        let folder = folder.to_str().filter(|folder| is_closed && is_apart && !folder.contains(':'));
        kept.extend(folder.filter(|folder| !kept.iter().any(|it| it == folder)).map(str::to_owned));
    }
    kept
}

/// A text with the folders in it that the hook's environment knows. Another name stays.
fn filled(text: &str, environment: &CommandEnvironment) -> String {
    with_folders(text, |name| environment.get(name).map(str::to_owned))
}

/// The words that a person wrote, those of a shell's text apart.
fn named(words: &[String], is_without_shell: bool) -> Vec<String> {
    match (is_without_shell, words) {
        (false, [shell, option, text]) => {
            let pieces = text.split(|letter: char| letter.is_whitespace() || "\"'`;|&()<>=".contains(letter));
            let pieces = pieces.filter(|piece| piece.contains('/')).map(str::to_owned);
            [shell.clone(), option.clone()].into_iter().chain(pieces).collect()
        }
        _ => words.to_vec(),
    }
}

/// The transcript lies in what is hidden from tools.
fn readable(workspace: &HookWorkspace) -> Vec<PathBuf> {
    if workspace.transcript.as_os_str().is_empty() { Vec::new() } else { vec![workspace.transcript.clone()] }
}

/// A hook's command that runs. Dropping it ends the command and all that it started.
pub(crate) struct RunningHook {
    stdout: OutputReader,
    stderr: OutputReader,
    hold: CommandHandle,
    clock: Arc<dyn Clock>,
    has_ended: Option<(Option<i32>, Option<i32>)>,
}

/// The reason why waiting is over.
pub(crate) enum CommandWait {
    Ended(HandlerEnd),
    /// Its first line was `{"async": true}`: it goes on, for so many milliseconds if it says.
    WentAsync(Option<u64>),
}

struct OutputReader {
    pipe: Receiver,
    piece: Vec<u8>,
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    most_head: usize,
    is_over: bool,
}

impl OutputReader {
    fn of(pipe: Receiver, most_head: usize) -> OutputReader {
        let (head, tail) = (Vec::new(), Vec::new());
        OutputReader { pipe, piece: vec![0; PIECE], head, tail, total: 0, most_head, is_over: false }
    }

    /// Cancel safe: what is read is kept.
    async fn read(&mut self) {
        match self.pipe.read(&mut self.piece).await {
            Ok(0) | Err(_) => self.is_over = true,
            Ok(length) => {
                let bytes = &self.piece[..length];
                self.total += length as u64;
                let room = self.most_head.saturating_sub(self.head.len());
                self.head.extend_from_slice(&bytes[..length.min(room)]);
                self.tail.extend_from_slice(bytes);
                let too_many = self.tail.len().saturating_sub(MAX_STDERR_TAIL);
                self.tail.drain(..too_many);
            }
        }
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// Everything that there was next.
enum NextStep {
    Read,
    Ended(Result<sys::warden::CommandExit, sandbox::CommandStartError>),
    TooLong,
    Kill,
    GiveUp,
}

impl RunningHook {
    fn of(running: RunningCommand, clock: Arc<dyn Clock>) -> RunningHook {
        let RunningCommand { stdout, stderr, hold, .. } = running;
        RunningHook {
            // One byte more tells a long answer from one that fits.
            stdout: OutputReader::of(stdout, MAX_STDOUT + 1),
            stderr: OutputReader::of(stderr, MAX_STDERR_HEAD),
            hold,
            clock,
            has_ended: None,
        }
    }

    /// Waits for its end, at most so long, and ends it then. `may_go_async`: its first line may say that nobody need wait.
    pub async fn wait(&mut self, time: Duration, may_go_async: bool) -> CommandWait {
        let clock = Arc::clone(&self.clock);
        let mut too_long = clock.sleep(time);
        let (mut kill, mut give_up) = (None, None);
        let mut cut: Option<HandlerEnd> = None;
        let mut first_line_is_read = !may_go_async;
        loop {
            if self.has_ended.is_some() && self.stdout.is_over && self.stderr.is_over {
                break;
            }
            let is_cut = cut.is_some();
            let next = tokio::select! {
                biased;
                () = elapsed(&mut kill) => NextStep::Kill,
                () = elapsed(&mut give_up) => NextStep::GiveUp,
                () = self.stdout.read(), if !self.stdout.is_over => NextStep::Read,
                () = self.stderr.read(), if !self.stderr.is_over => NextStep::Read,
                ended = self.hold.ended(), if self.has_ended.is_none() => NextStep::Ended(ended),
                () = &mut too_long, if !is_cut => NextStep::TooLong,
            };
            match next {
                NextStep::Read => {}
                NextStep::Ended(Ok(exit)) => self.has_ended = Some((exit.code, exit.signal)),
                NextStep::Ended(Err(error)) => {
                    let end = self.told(Some((HookOutcome::NotStarted, format!("was not run: {error}"))));
                    return CommandWait::Ended(HandlerEnd { put_aside: self.put_aside().await, ..end });
                }
                NextStep::TooLong => {
                    cut = Some(timed_out(time));
                    self.hold.wish(WardenSignal::Stop);
                    kill = Some(clock.sleep(STOP_TIME));
                }
                NextStep::Kill => {
                    kill = None;
                    self.hold.wish(WardenSignal::Kill);
                    give_up = Some(clock.sleep(KILL_TIME));
                }
                NextStep::GiveUp => {
                    // Whoever watches over it was stopped, or hangs.
                    self.hold.give_up();
                    break;
                }
            }
            if !first_line_is_read && let Some(end) = self.stdout.head.iter().position(|byte| *byte == b'\n')
            {
                first_line_is_read = true;
                if let Some(time) = async_line(&self.stdout.head[..end]) {
                    return CommandWait::WentAsync(time);
                }
            }
            if cut.is_none()
                && let Some(end) = self.flood()
            {
                cut = Some(end);
                self.hold.wish(WardenSignal::Kill);
                give_up = Some(clock.sleep(KILL_TIME));
            }
        }
        let put_aside = self.put_aside().await;
        CommandWait::Ended(HandlerEnd { put_aside, ..self.told(cut.and_then(|end| end.failure)) })
    }

    /// Puts aside what it wrote and was not to write, now that all of it has ended. Answers that in words.
    async fn put_aside(&mut self) -> Vec<String> {
        let Some(mut kept) = self.hold.let_go() else { return Vec::new() };
        let finished = tokio::task::spawn_blocking(move || kept.finish()).await;
        finished.unwrap_or_else(|error| vec![format!("what it wrote could not be looked at: {error}")])
    }

    /// It says more than anybody hears.
    fn flood(&self) -> Option<HandlerEnd> {
        let invalid = |why: String| Some(HandlerEnd::failed(HookOutcome::Invalid, why));
        if MAX_STDOUT as u64 <= self.stdout.total.saturating_sub(1) {
            return invalid(format!("printed more than {} MiB and was ended", MAX_STDOUT >> 20));
        }
        if MAX_STDERR < self.stderr.total {
            return invalid(format!("complained of more than {} MiB and was ended", MAX_STDERR >> 20));
        }
        None
    }

    fn told(&self, failure: Option<(HookOutcome, String)>) -> HandlerEnd {
        let (exit_code, signal) = self.has_ended.unwrap_or_default();
        let failure = failure
            .or_else(|| signal.map(|signal| (HookOutcome::Failed, format!("was ended by signal {signal}"))));
        HandlerEnd {
            exit_code: exit_code.filter(|_| signal.is_none()),
            stdout: OutputReader::text(&self.stdout.head),
            stderr: OutputReader::text(&self.stderr.head),
            stderr_end: OutputReader::text(&self.stderr.tail),
            failure,
            ..HandlerEnd::default()
        }
    }
}

async fn elapsed(timer: &mut Option<futures_util::future::BoxFuture<'static, ()>>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// True if a line is `{"async": true}`, and its `asyncTimeout`.
#[allow(clippy::option_option, reason = "whether it is, and whether it says a time")]
fn async_line(line: &[u8]) -> Option<Option<u64>> {
    let value: Value = serde_json::from_slice(line.trim_ascii()).ok()?;
    (value.get("async") == Some(&Value::Bool(true)))
        .then(|| value.get("asyncTimeout").and_then(Value::as_u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_filled_in_where_no_shell_does_it() {
        let mut environment = CommandEnvironment::default();
        environment.set("CLAUDE_PROJECT_DIR", "/w");
        environment.set("CLAUDE_PLUGIN_ROOT", "/p");
        environment.set("TOKEN", "x");
        for (text, expected) in [
            ("${CLAUDE_PLUGIN_ROOT}/guard.py", "/p/guard.py"),
            ("$CLAUDE_PLUGIN_ROOT/guard.py", "/p/guard.py"),
            ("--root=${CLAUDE_PROJECT_DIR}", "--root=/w"),
            ("${CLAUDE_PLUGIN_DATA}/x $TOKEN ${TOKEN}", "${CLAUDE_PLUGIN_DATA}/x $TOKEN ${TOKEN}"),
        ] {
            assert_eq!(filled(text, &environment), expected);
        }
    }
}
