//! When does a server's program run?
//!
//! What a program writes at places that others run by themselves is put aside, and nobody could tell afterwards whether it or a person wrote
//! there. So one that may write a workspace stands still unless somebody asks it for something, and while it runs the workspace is
//! watched.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, oneshot};

use crate::{ServerCallWatch, WatchedWorkspace};
use sandbox::{CommandPauser, NotPaused};
use sys::{clock::Clock, tasks::TaskGroup};

/// How long a server may take to hear that nobody waits for its answer any more.
const TAKE_BACK_TIME: Duration = Duration::from_secs(1);

/// For the log.
const TASK: &str = "what has an MCP server stand still";

/// The program of one connection. A cheap handle.
#[derive(Clone)]
pub struct PausableProgram(Arc<PausableProgramInner>);

struct PausableProgramInner {
    /// For the log.
    server: String,
    /// How many ask for something. Held while the program is stopped or goes on, so that these come one after the other.
    open: Mutex<usize>,
    /// `None` = it goes on between periods, too.
    pauser: Option<CommandPauser>,
    workspace: WatchedWorkspace,
    tasks: TaskGroup,
}

impl PausableProgram {
    /// Of a program that was started just now, and the period in which it starts. `watch` was begun before; without a `pauser` it goes on between
    /// periods, too.
    pub fn of_started(
        server: &str,
        pauser: Option<CommandPauser>,
        (workspace, watch): (WatchedWorkspace, ServerCallWatch),
        tasks: &TaskGroup,
    ) -> (PausableProgram, ActivePeriod) {
        let (server, tasks) = (server.to_owned(), tasks.clone());
        let inner = PausableProgramInner { server, open: Mutex::new(1), pauser, workspace, tasks };
        let program = PausableProgram(Arc::new(inner));
        (program.clone(), ActivePeriod { program, watch: Some(watch) })
    }

    /// Has the program go on. The error is why the workspace cannot be watched meanwhile; then it does not. Cancel safe.
    pub async fn begin(&self) -> Result<ActivePeriod, String> {
        let watch = self.0.workspace.watch().await?;
        let mut open = self.0.open.lock().await;
        *open += 1;
        if let (1, Some(pauser)) = (*open, &self.0.pauser) {
            pauser.resume();
        }
        Ok(ActivePeriod { program: self.clone(), watch: Some(watch) })
    }

    /// One who asked is done: after the last the program stands still, or has ended.
    async fn leave(&self) {
        let mut open = self.0.open.lock().await;
        *open -= 1;
        let Some(pauser) = self.0.pauser.as_ref().filter(|_| *open == 0) else { return };
        match pauser.pause().await {
            Ok(()) | Err(NotPaused::Ended) => (),
            Err(NotPaused::Going) => {
                tracing::warn!(
                    server = self.0.server,
                    "the program of an MCP server is ended: it does not stand still while nobody asks it for anything; \"background\": true \
                     in its entry of your own settings lets it go on"
                );
                pauser.kill();
                // It has ended then.
                let _ended = pauser.pause().await;
            }
        }
    }
}

/// Somebody asks a server for something. The program stands still after the last of these, also where nobody waits for that.
pub struct ActivePeriod {
    program: PausableProgram,
    watch: Option<ServerCallWatch>,
}

impl ActivePeriod {
    /// Nothing is asked for any more. Puts aside what is not to be there, and answers in words what was done. Cancel safe.
    pub async fn end(mut self) -> Vec<String> {
        match self.leaves(None) {
            Some(told) => told.await.unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// The same once the server has had a moment to hear that nobody waits any more: what it goes on with then, it would go on with in the
    /// next period. Nobody waits for this either, so what was done is told in the log.
    pub fn end_later(mut self, clock: &dyn Clock) {
        drop(self.leaves(Some(clock.sleep(TAKE_BACK_TIME))));
    }

    fn leaves(&mut self, moment: Option<BoxFuture<'static, ()>>) -> Option<oneshot::Receiver<Vec<String>>> {
        let watch = self.watch.take()?;
        let program = self.program.clone();
        let (tell, told) = oneshot::channel();
        self.program.0.tasks.spawn(TASK, async move {
            if let (Some(moment), Some(pauser)) = (moment, &program.0.pauser) {
                tokio::select! {
                    () = moment => (),
                    () = pauser.ended() => (),
                }
            }
            program.leave().await;
            let done = watch.finish().await;
            if let Err(untold) = tell.send(done) {
                for done in untold {
                    tracing::warn!(server = program.0.server, "after an MCP server was at work: {done}");
                }
            }
        });
        Some(told)
    }
}

impl Drop for ActivePeriod {
    fn drop(&mut self) {
        drop(self.leaves(None));
    }
}
