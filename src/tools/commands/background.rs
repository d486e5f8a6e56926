//! Commands that go on after the call that started them: a session's own, listed, read and ended by its calls.
//!
//! They end with the session, with the daemon, and when somebody says so. Nothing of them is in the log but the calls: after
//! a restart they are gone, and whoever asks for one is told so.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use encoding_rs::UTF_8;
use tokio_util::sync::CancellationToken;

use super::{CallContext, CommandBounds, OutputCapture};
use protocol::SessionId;
use redact::Redactor;
use sandbox::{CommandHandle, RunningCommand};
use sys::{
    clock::Clock,
    tasks::TaskGroup,
    warden::{CommandExit, WardenSignal},
};
use tokio::{io::AsyncReadExt as _, net::unix::pipe::Receiver};

/// Commands that one session may have in the background at a time: more is a loop that starts servers.
const MOST_AT_ONCE: usize = 16;

/// Ended ones of a session that are remembered, so that what they put out can still be read.
const MOST_ENDED: usize = 32;

/// Bytes kept of what one put out: its beginning, where it says how it started, and its end.
const KEPT: (usize, usize) = (256 << 10, 1 << 20);

/// How long one that was asked to end may take.
const STOP_TIME: Duration = Duration::from_secs(2);

/// How long one that was to be ended may take: its warden ends what it can see within a second.
const KILL_TIME: Duration = Duration::from_secs(5);

/// For the log.
const TASK: &str = "what watches over a command in the background";

/// Bytes read at once.
const PIECE: usize = 16 << 10;

/// The background commands of a daemon. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct BackgroundCommands {
    sessions: Arc<Mutex<HashMap<SessionId, SessionCommands>>>,
    /// Whoever waits here sees to the commands.
    tasks: TaskGroup,
    /// Ends all.
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct SessionCommands {
    jobs: Vec<Arc<BackgroundCommand>>,
    /// Of the last one.
    number: u32,
    /// The session is over; nothing is started in it any more.
    is_over: bool,
}

/// One of them.
#[derive(Debug)]
pub struct BackgroundCommand {
    /// Counted in its session.
    pub id: String,
    pub command: String,
    /// The folder that it was started in.
    pub folder: PathBuf,
    stop: CancellationToken,
    state: Mutex<BackgroundCommandState>,
    /// Fires when it has ended.
    pub over: CancellationToken,
}

#[derive(Debug)]
struct BackgroundCommandState {
    output: OutputCapture,
    ended: Option<CommandExit>,
}

/// Why no other one is started.
#[derive(Debug, thiserror::Error)]
pub enum BackgroundStartError {
    #[error("the session has {MOST_AT_ONCE} commands in the background already; end one with kill_shell")]
    Running,
    #[error("the session is over")]
    SessionOver,
}

impl BackgroundCommands {
    /// Commands are seen to by tasks of `tasks`, and end with `stop`.
    pub fn new(tasks: TaskGroup, stop: CancellationToken) -> BackgroundCommands {
        BackgroundCommands { sessions: Arc::default(), tasks, stop }
    }

    /// The tasks of whatever sees to commands.
    pub fn tasks(&self) -> &TaskGroup {
        &self.tasks
    }

    /// Takes over a command that was started for this session.
    pub fn take(
        &self,
        session: &SessionId,
        (command, folder): (String, PathBuf),
        running: RunningCommand,
        bounds: &CommandBounds,
        (clock, redactor): (&Arc<dyn Clock>, &Redactor),
    ) -> Result<Arc<BackgroundCommand>, BackgroundStartError> {
        let job = {
            let mut sessions = self.lock();
            let shells = sessions.entry(session.clone()).or_default();
            if shells.is_over {
                return Err(BackgroundStartError::SessionOver);
            }
            let is_running = |job: &&Arc<BackgroundCommand>| !job.over.is_cancelled();
            if MOST_AT_ONCE <= shells.jobs.iter().filter(is_running).count() {
                return Err(BackgroundStartError::Running);
            }
            shells.number += 1;
            let job = Arc::new(BackgroundCommand {
                id: shells.number.to_string(),
                command,
                folder,
                stop: self.stop.child_token(),
                state: Mutex::new(BackgroundCommandState {
                    output: OutputCapture::of(KEPT.0, KEPT.1),
                    ended: None,
                }),
                over: CancellationToken::new(),
            });
            let ended = shells.jobs.iter().filter(|job| job.over.is_cancelled()).count();
            if MOST_ENDED <= ended
                && let Some(oldest) = shells.jobs.iter().position(|job| job.over.is_cancelled())
            {
                shells.jobs.remove(oldest);
            }
            shells.jobs.push(Arc::clone(&job));
            job
        };
        let (watched, max_output, clock) = (Arc::clone(&job), bounds.max_output, Arc::clone(clock));
        let redactor = redactor.clone();
        let tasks = self.tasks.clone();
        self.tasks.spawn(TASK, async move {
            let _over = watched.over.clone().drop_guard();
            // What watched over it is gone, and so the command ends.
            let watching = watched.watch(running, max_output, &*clock, &redactor);
            if let Err(panicked) = tasks.caught(TASK, watching).await {
                watched.give_up(&panicked.to_string());
            }
        });
        Ok(job)
    }

    /// Those of a session, in the order they were started.
    pub fn jobs(&self, session: &SessionId) -> Vec<Arc<BackgroundCommand>> {
        self.lock().get(session).map(|shells| shells.jobs.clone()).unwrap_or_default()
    }

    pub fn job(&self, session: &SessionId, id: &str) -> Option<Arc<BackgroundCommand>> {
        self.jobs(session).into_iter().find(|job| job.id == id)
    }

    /// Ends all of a session, which is over. Nothing is started in it any more.
    pub fn end_session(&self, session: &SessionId) {
        let mut sessions = self.lock();
        let Some(shells) = sessions.get_mut(session) else { return };
        shells.is_over = true;
        shells.jobs.drain(..).for_each(|job| job.stop.cancel());
    }

    /// What is known of a session that is deleted.
    pub fn forget_session(&self, session: &SessionId) {
        self.end_session(session);
        self.lock().remove(session);
    }

    /// Commands that run.
    pub fn running(&self) -> usize {
        let sessions = self.lock();
        sessions.values().flat_map(|shells| &shells.jobs).filter(|job| !job.over.is_cancelled()).count()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionCommands>> {
        // Nothing panics while it is held.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BackgroundCommand {
    /// Asks it to end; it is ended soon if it does not.
    pub async fn end(&self, cx: &CallContext) {
        self.stop.cancel();
        tokio::select! {
            () = self.over.cancelled() => (),
            () = cx.cancel.cancelled() => (),
        }
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<CommandExit> {
        self.lock().ended.clone()
    }

    /// Bytes it has put out.
    pub fn total(&self) -> u64 {
        self.lock().output.total()
    }

    /// What it has put out from a byte on: where that begins, and at most so many bytes.
    pub fn output(&self, from: u64, most: usize) -> (u64, Vec<u8>) {
        self.lock().output.from(from, most)
    }

    async fn watch(
        &self,
        running: RunningCommand,
        max_output: Option<u64>,
        clock: &dyn Clock,
        redactor: &Redactor,
    ) {
        let RunningCommand { mut stdout, mut stderr, mut hold, .. } = running;
        let ended = {
            let reading = async {
                tokio::join!(
                    self.read(&mut stdout, max_output, redactor),
                    self.read(&mut stderr, max_output, redactor)
                );
            };
            tokio::pin!(reading);
            let ended = self.until_end(&mut hold, clock);
            tokio::pin!(ended);
            let mut is_read = false;
            let ended = loop {
                tokio::select! {
                    () = &mut reading, if !is_read => is_read = true,
                    ended = &mut ended => break ended,
                }
            };
            if !is_read {
                // Nobody is left who could hold the outputs open.
                reading.await;
            }
            ended
        };
        self.lock().ended = Some(ended);
    }

    async fn until_end(&self, hold: &mut CommandHandle, clock: &dyn Clock) -> CommandExit {
        let ended = tokio::select! {
            ended = hold.ended() => ended,
            () = self.stop.cancelled() => {
                hold.wish(WardenSignal::Stop);
                tokio::select! {
                    ended = hold.ended() => ended,
                    () = clock.sleep(STOP_TIME) => {
                        hold.wish(WardenSignal::Kill);
                        tokio::select! {
                            ended = hold.ended() => ended,
                            () = clock.sleep(KILL_TIME) => {
                                // Whoever watches over it was stopped, or hangs; its end closes the socket.
                                hold.give_up();
                                hold.ended().await
                            }
                        }
                    }
                }
            }
        };
        ended.unwrap_or_else(|error| {
            self.note(&error.to_string());
            CommandExit::default()
        })
    }

    /// It has ended, and nobody knows how; why.
    fn give_up(&self, why: &str) {
        self.note(why);
        self.lock().ended = Some(CommandExit::default());
    }

    /// Says something to whoever reads its output.
    fn note(&self, what: &str) {
        self.lock().output.push(format!("\n[{what}]\n").as_bytes());
    }

    /// Secrets are taken out before it is kept: whoever reads it by pieces would get parts of them.
    async fn read(&self, pipe: &mut Receiver, max_output: Option<u64>, redactor: &Redactor) {
        let mut piece = vec![0; PIECE];
        let mut decoder = UTF_8.new_decoder_without_bom_handling();
        let mut redactor = redactor.stream();
        loop {
            let read = pipe.read(&mut piece).await;
            let length = read.unwrap_or(0);
            let mut text = String::with_capacity(decoder.max_utf8_buffer_length(length).unwrap_or(length));
            let _all_fits = decoder.decode_to_string(&piece[..length], &mut text, length == 0);
            let shown = redactor.push(&text);
            let total = {
                let mut state = self.lock();
                state.output.push(shown.as_bytes());
                state.output.total()
            };
            if length == 0 {
                break;
            }
            if max_output.is_some_and(|most| most < total) {
                self.stop.cancel();
            }
        }
        self.lock().output.push(redactor.finish().as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, BackgroundCommandState> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
