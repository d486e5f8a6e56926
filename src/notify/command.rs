//! How is a command told something? On its standard input, in a process group of its own that ends with it.

use std::{
    io,
    os::unix::process::CommandExt as _,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::ChildStdin};

use super::{NotifyError, within};
use sys::{
    children::{ChildProcesses, OwnChild, SpawnOrigin},
    clock::Clock,
};

/// Time for a command. Enough to reach a service far away, and little beside how long a person takes to come.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs a command without a shell, gives it `input`, and waits for its end. Whatever it leaves in its process group ends
/// with it; so does the command itself when this is dropped. It has the daemon's environment and nobody reads what it
/// prints. It is the owner's own, so it may talk to the daemon while it runs.
pub async fn run(
    children: &ChildProcesses,
    clock: &Arc<dyn Clock>,
    words: &[String],
    input: &[u8],
) -> Result<(), NotifyError> {
    let [program, ..] = words else { return Ok(()) };
    let failed = |problem: String| NotifyError::Command { program: program.clone(), problem };
    let (programs, noted) = (children.owner_programs().clone(), words.to_vec());
    let command = tokio::task::spawn_blocking(move || programs.command(&noted)).await;
    // It cannot be cancelled: nobody holds its handle but this.
    let command = command.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
    let mut command = command.map_err(failed)?;
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = children.spawn(command.process_group(0), SpawnOrigin::Ours);
    let child = child.map_err(|error| failed(format!("cannot be run: {}", error.kind())))?;
    let mut group = ProcessGroup { child };
    let unknown = |error: io::Error| failed(format!("cannot be waited for: {}", error.kind()));
    let ended = within(clock, COMMAND_TIMEOUT, group.feed_until_end(input)).await;
    match ended.transpose().map_err(unknown)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(format!("failed with {status}"))),
        None => Err(failed(format!("took more than {} s and was ended", COMMAND_TIMEOUT.as_secs()))),
    }
}

/// A child that leads a process group. Dropping it ends the group.
struct ProcessGroup {
    child: OwnChild,
}

impl ProcessGroup {
    /// Gives it its input and waits until it has ended.
    async fn feed_until_end(&mut self, input: &[u8]) -> io::Result<ExitStatus> {
        let end = self.child.end()?;
        let stdin = self.child.take_stdin().map(ChildStdin::from_std).transpose()?;
        let feeding = async {
            // A command that does not read to the end is free to: what counts is how it ends.
            if let Some(mut stdin) = stdin
                && stdin.write_all(input).await.is_ok()
            {
                let _unread = stdin.shutdown().await;
            }
        };
        tokio::select! {
            ended = end.wait() => ended?,
            () = async { feeding.await; std::future::pending().await } => (),
        }
        self.child.kill_group();
        // It has ended, so this does not wait.
        self.child.wait()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // The group of one that was waited for is gone, and left alone.
        self.child.kill_group();
    }
}
