//! Who goes on in a workspace while git changes the settings of its repositories?
//!
//! What commands may not write in their view is covered by a mount. git puts a new file in the place of its old settings, and with
//! the old one every other view loses its cover: a command that goes on there could then write what git runs by itself. So git
//! changes settings only where no other command of an agent goes on, and none begins meanwhile.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// The time that a command waits for git before git is ended: one that reads what nobody writes never comes to its end.
pub const GIT_YIELDS_AFTER: Duration = Duration::from_secs(20);

/// The longest wait of a command for git to be done, which was told to end meanwhile; then it is refused.
const PATIENCE: Duration = Duration::from_secs(60);

/// Commands that go on. A cheap handle.
#[derive(Debug, Clone, Default)]
pub struct CoveredCommands(Arc<CoveredState>);

#[derive(Debug, Default)]
struct CoveredState {
    all: Mutex<CoveredList>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct CoveredList {
    next: u64,
    entries: Vec<CoveredEntry>,
}

#[derive(Debug)]
struct CoveredEntry {
    id: u64,
    roots: Vec<PathBuf>,
    state: CoveredCommandState,
    /// Fires when others have waited for it long enough.
    yields: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CoveredCommandState {
    /// It would begin, and git is not done.
    Waits,
    Covered,
    ChangesSettings,
}

/// A command's place among those that go on. It is to be kept until the command has ended.
#[derive(Debug)]
pub struct CoverTicket {
    covered: CoveredCommands,
    id: u64,
    /// Whether it may change the settings of repositories.
    pub changes_settings: bool,
}

impl CoveredCommands {
    /// Enters a command in these folders, absolute and without links. One that would change settings may not where others go on; any
    /// other waits while settings may change, and after a while has what changes them end: whoever runs that sees `yields` fire.
    /// `None` = it waited too long.
    pub async fn enter(
        &self,
        roots: &[PathBuf],
        would_change: bool,
        yields: CancellationToken,
    ) -> Option<CoverTicket> {
        let ticket = self.wait_in_line(roots, would_change, yields);
        let id = ticket.id;
        let begins = async {
            if timeout(GIT_YIELDS_AFTER, self.begun(id)).await.is_err() {
                self.ask_to_yield(roots);
                self.begun(id).await;
            }
        };
        if !ticket.changes_settings {
            timeout(PATIENCE, begins).await.ok()?;
        }
        Some(ticket)
    }

    async fn begun(&self, id: u64) {
        loop {
            let ended = self.0.ended.notified();
            if self.begins(id) {
                return;
            }
            ended.await;
        }
    }

    fn ask_to_yield(&self, roots: &[PathBuf]) {
        for entry in &self.list().entries {
            if entry.state == CoveredCommandState::ChangesSettings && overlap(&entry.roots, roots) {
                entry.yields.cancel();
            }
        }
    }

    fn wait_in_line(&self, roots: &[PathBuf], would_change: bool, yields: CancellationToken) -> CoverTicket {
        let mut list = self.list();
        let others = list
            .entries
            .iter()
            .any(|it| it.state != CoveredCommandState::ChangesSettings && overlap(&it.roots, roots));
        let changes_settings = would_change && !others;
        let state = match changes_settings {
            true => CoveredCommandState::ChangesSettings,
            false => CoveredCommandState::Waits,
        };
        let id = list.next;
        list.next += 1;
        list.entries.push(CoveredEntry { id, roots: roots.to_vec(), state, yields });
        CoverTicket { covered: self.clone(), id, changes_settings }
    }

    /// Whether nothing changes settings under it; from then on nothing does.
    fn begins(&self, id: u64) -> bool {
        let mut list = self.list();
        let Some(at) = list.entries.iter().position(|it| it.id == id) else { return true };
        let is_free = !list.entries.iter().any(|it| {
            it.state == CoveredCommandState::ChangesSettings && overlap(&it.roots, &list.entries[at].roots)
        });
        if is_free {
            list.entries[at].state = CoveredCommandState::Covered;
        }
        is_free
    }

    fn list(&self) -> MutexGuard<'_, CoveredList> {
        // Nothing panics while it is locked.
        self.0.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CoverTicket {
    fn drop(&mut self) {
        self.covered.list().entries.retain(|it| it.id != self.id);
        self.covered.0.ended.notify_waiters();
    }
}

fn overlap(these: &[PathBuf], those: &[PathBuf]) -> bool {
    these.iter().any(|this| those.iter().any(|that| this.starts_with(that) || that.starts_with(this)))
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    fn at(path: &str) -> Vec<PathBuf> {
        vec![PathBuf::from(path)]
    }

    #[tokio::test]
    async fn settings_change_only_where_nothing_else_goes_on() {
        let covered = CoveredCommands::default();
        let server = covered.enter(&at("/work/a"), false, CancellationToken::new()).await.unwrap();
        for (roots, changes) in
            [("/work/a", false), ("/work", false), ("/work/a/b", false), ("/work/ab", true)]
        {
            assert_eq!(
                covered.enter(&at(roots), true, CancellationToken::new()).await.unwrap().changes_settings,
                changes,
                "{roots}"
            );
        }
        drop(server);
        assert!(
            covered.enter(&at("/work/a"), true, CancellationToken::new()).await.unwrap().changes_settings
        );
    }

    #[tokio::test]
    async fn nothing_begins_while_settings_may_change_and_git_does_not_go_first_again() {
        let covered = CoveredCommands::default();
        let git = covered.enter(&at("/work"), true, CancellationToken::new()).await.unwrap();
        let other = covered.enter(&at("/work"), true, CancellationToken::new()).await.unwrap();
        assert!(git.changes_settings && other.changes_settings, "git beside git");
        let roots = at("/work/a");
        let mut begins = Box::pin(covered.enter(&roots, false, CancellationToken::new()));
        assert!(poll!(&mut begins).is_pending());
        // It has not begun, and is not to wait for ever.
        let roots = at("/work");
        let mut late = Box::pin(covered.enter(&roots, true, CancellationToken::new()));
        assert!(poll!(&mut late).is_pending());
        drop(git);
        assert!(poll!(&mut begins).is_pending());
        drop(other);
        let Poll::Ready(Some(begun)) = poll!(&mut begins) else { panic!("nothing is in its way") };
        assert!(matches!(poll!(&mut late), Poll::Ready(Some(ticket)) if !ticket.changes_settings));
        drop(begun);
        assert!(covered.list().entries.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn git_ends_for_whoever_waits_for_it_long_and_for_nobody_else() {
        let covered = CoveredCommands::default();
        let [yields, elsewhere] = [(); 2].map(|()| CancellationToken::new());
        let git = covered.enter(&at("/work"), true, yields.clone()).await.unwrap();
        let _other = covered.enter(&at("/other"), true, elsewhere.clone()).await.unwrap();
        let roots = at("/work/sub");
        let waiting = covered.enter(&roots, false, CancellationToken::new());
        let yielding = async {
            yields.cancelled().await;
            assert!(!elsewhere.is_cancelled());
            drop(git);
        };
        let (begun, ()) = tokio::join!(waiting, yielding);
        assert!(begun.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_does_not_wait_for_ever() {
        let covered = CoveredCommands::default();
        let _git = covered.enter(&at("/work"), true, CancellationToken::new()).await.unwrap();
        assert!(covered.enter(&at("/work"), false, CancellationToken::new()).await.is_none());
        assert_eq!(covered.list().entries.len(), 1);
    }
}
