//! The task that keeps a server: opens a connection, stays with it, and tries again when it is lost.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{Household, Ready, Server, Standing, lock};
use crate::{
    sys::clock::Clock,
    tools::mcp::{
        launch::Ground,
        listing::Listing,
        opening::{Ending, Open, Opener, Unopened},
        rules::ServerRules,
    },
};

/// The first pause before a server is tried again; each next one is twice as long (spec 07).
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that was well for so long begins with the first pause again (spec 07).
const HEALTHY_TIME: Duration = Duration::from_secs(60);
/// A server is asked whether it is there so often (spec 07).
const PING_PAUSE: Duration = Duration::from_secs(60);
/// Servers tell several times in a row that their tools changed; they are listed once.
const SETTLING: Duration = Duration::from_millis(200);
/// How long the end of a program is waited for that has closed its output.
const END_TIME: Duration = Duration::from_secs(1);

/// Why a connection is not attended any more.
enum End {
    /// Somebody stopped it, or nobody used it.
    Unwanted,
    /// Somebody wants it restarted.
    Again,
    /// What it is started with may not be run any more.
    Refused(String),
    Lost(String),
}

impl Server {
    pub(super) async fn keep(self: Arc<Self>, household: &Arc<dyn Household>, token: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let rules = household.rules();
            let commands = rules.commands.clone().for_agent(self.origin.sandbox());
            let ground = Ground {
                commands: household.commands(),
                rules: &commands,
                in_workspace: self.may_run_in_workspace(household),
                redactor: &rules.redactor,
                roots: &self.roots,
            };
            let opener = Opener {
                name: &self.name,
                entry: &self.entry,
                ground,
                clock: household.clock(),
                tasks: household.tasks(),
                stop: &token,
                complaints: &self.complaints,
                sign_ins: &rules.sign_ins,
            };
            if let Some(why) = self.refused(household).await {
                return self.left(household, Some(why));
            }
            let begun = household.clock().monotonic();
            let end = match opener.open().await {
                Ok(open) => self.attend(open, &opener, household, &token).await,
                Err(Unopened::Wrong(error)) => return self.left(household, Some(error)),
                Err(Unopened::Away(error)) => End::Lost(error),
            };
            let error = match end {
                End::Unwanted => return self.left(household, None),
                End::Refused(why) => return self.left(household, Some(why)),
                End::Again => {
                    lock(&self.record).restarts += 1;
                    self.stand(household, Standing::Connecting);
                    pause = FIRST_PAUSE;
                    continue;
                }
                End::Lost(error) if token.is_cancelled() => {
                    lock(&self.record).last_error = Some(rules.redactor.owned(error));
                    return self.left(household, None);
                }
                End::Lost(error) => rules.redactor.owned(error),
            };
            tracing::warn!(server = self.name, error, "an MCP server is away");
            if HEALTHY_TIME <= household.clock().monotonic().saturating_sub(begun) {
                pause = FIRST_PAUSE;
            }
            lock(&self.record).last_error = Some(error.clone());
            let until = household.clock().monotonic() + pause;
            self.stand(household, Standing::Backoff { error: error.clone(), until });
            tokio::select! {
                () = token.cancelled() => return self.left(household, None),
                () = household.clock().sleep(pause) => (),
                () = self.again.notified() => (),
            }
            if self.is_unused(household, &rules) {
                return self.left(household, Some(error));
            }
            pause = LONGEST_PAUSE.min(pause * 2);
            lock(&self.record).restarts += 1;
            self.stand(household, Standing::Connecting);
        }
    }

    async fn attend(
        &self,
        open: Open,
        opener: &Opener<'_>,
        household: &Arc<dyn Household>,
        token: &CancellationToken,
    ) -> End {
        let mut open = open;
        let (connection, ears, clock) = (open.connection.clone(), open.ears.clone(), household.clock());
        let (pid, server, refusal) = (open.pid, open.server.take(), Arc::clone(&open.refusal));
        let ready = |Listing { tools, warnings }: Listing| {
            let (connection, tools) = (connection.clone(), tools.into());
            Standing::Ready(Arc::new(Ready { connection, tools, warnings, pid, server: server.clone() }))
        };
        self.stand(household, ready(std::mem::take(&mut open.listing)));
        household.changed(self, true);
        let mut ping = clock.sleep(PING_PAUSE);
        let (closed, mut ending) = open.attended();
        let mut closed = pin!(closed);
        let end = loop {
            let idle = match self.idle_in(household) {
                Some(idle) => clock.sleep(idle),
                None => Box::pin(std::future::pending()),
            };
            tokio::select! {
                biased;
                () = token.cancelled() => break End::Unwanted,
                ended = ending.program_ended() => {
                    // Its last words may still be in the pipe.
                    break End::Lost(match ended {
                        Some(ended) => opener.how(&ended),
                        None => "its program ended".to_owned(),
                    });
                }
                () = &mut closed => break self.lost(&mut ending, opener, clock).await,
                () = self.again.notified() => break End::Again,
                () = self.look.notified() => {
                    if let Some(why) = self.refused(household).await {
                        break End::Refused(why);
                    }
                }
                () = refusal.told() => break End::Lost("it does not know any more who signed in".to_owned()),
                () = ears.tools_changed() => {
                    tokio::select! {
                        () = token.cancelled() => break End::Unwanted,
                        () = clock.sleep(SETTLING) => (),
                    }
                    ears.forget_tools_changed();
                    match opener.list(&connection).await {
                        Ok(listing) => {
                            let is_other = self.has_other_tools(&listing);
                            self.stand(household, ready(listing));
                            if is_other {
                                household.changed(self, true);
                            }
                        }
                        Err(error) => tracing::warn!(server = self.name, %error, "its tools could not be listed again"),
                    }
                }
                () = &mut ping => {
                    if let Err(error) = connection.ping(token).await {
                        break End::Lost(format!("it does not answer any more: {error}"));
                    }
                    ping = clock.sleep(PING_PAUSE);
                }
                () = idle => {
                    if self.is_left_unused(household, &household.rules()) {
                        break End::Unwanted;
                    }
                }
            }
        };
        if let End::Unwanted = end {
            // Before it goes: who needs it from now on waits for the next one.
            self.standing.send_replace(Standing::Connecting);
        }
        ending.end(closed, clock).await;
        end
    }

    fn has_other_tools(&self, listing: &Listing) -> bool {
        match &*self.standing.borrow() {
            Standing::Ready(ready) => *ready.tools != *listing.tools,
            _ => true,
        }
    }

    /// The connection has ended: because the program did, or without it.
    async fn lost(&self, ending: &mut Ending, opener: &Opener<'_>, clock: &Arc<dyn Clock>) -> End {
        tokio::select! {
            biased;
            ended = ending.program_ended() => End::Lost(match ended {
                Some(ended) => opener.how(&ended),
                None => "its program ended".to_owned(),
            }),
            () = clock.sleep(END_TIME) => End::Lost("it closed the connection".to_owned()),
        }
    }

    fn stand(&self, household: &Arc<dyn Household>, standing: Standing) {
        self.standing.send_replace(standing);
        household.changed(self, false);
    }

    /// Nobody keeps it any more, because of an error or because nobody wants it.
    fn left(&self, household: &Arc<dyn Household>, error: Option<String>) {
        let standing = match error {
            Some(error) => {
                let error = household.rules().redactor.owned(error);
                lock(&self.record).last_error = Some(error.clone());
                Standing::Failed { error }
            }
            None => Standing::Idle,
        };
        {
            // Whoever begins it anew sees both or neither.
            let mut uses = self.uses();
            uses.keeper = None;
            self.standing.send_replace(standing);
        }
        household.changed(self, false);
    }

    /// When it will have been unused for so long that it is stopped; `None` = never.
    fn idle_in(&self, household: &Arc<dyn Household>) -> Option<Duration> {
        let timeout = household.rules().idle_timeout?;
        let uses = self.uses();
        let now = household.clock().monotonic();
        if 0 < uses.now { Some(timeout) } else { Some((uses.last + timeout).saturating_sub(now)) }
    }

    /// Whether it is to go for want of use. Whoever enters after this sees that it is going.
    fn is_left_unused(&self, household: &Arc<dyn Household>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout.filter(|_| !self.entry.auto_start) else { return false };
        let uses = self.uses();
        let since = household.clock().monotonic().saturating_sub(uses.last);
        let is_left = uses.now == 0 && timeout <= since;
        if is_left {
            self.standing.send_replace(Standing::Connecting);
        }
        is_left
    }

    fn is_unused(&self, household: &Arc<dyn Household>, rules: &ServerRules) -> bool {
        let Some(timeout) = rules.idle_timeout else { return false };
        let uses = self.uses();
        let since = household.clock().monotonic().saturating_sub(uses.last);
        uses.now == 0 && timeout <= since && !self.entry.auto_start
    }
}
