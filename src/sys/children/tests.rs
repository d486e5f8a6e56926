//! Who descends, who is let in, and who ends? In processes of their own: whoever takes in orphans takes in those of all
//! tests that share the process.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tokio::time::timeout;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{reaper::ReapPhase, *};

/// Longer than any machine needs; reached only by a defect.
const STUCK: Duration = Duration::from_secs(60);

/// Says to a test that the process is its own.
const ALONE: &str = "SUBAGENTD_TEST";

/// Runs the test of this name once more, by words that `sh` understands, in a process that is its own. True in that
/// process, which then does the test's work.
fn is_alone(name: &str, words: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new("sh");
    command.args(["-c", words]).arg(std::env::current_exe().unwrap()).env(ALONE, "1");
    command.args(["--exact", &format!("children::tests::{name}"), "--nocapture"]);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    false
}

const PLAINLY: &str = r#"exec "$0" "$@""#;

/// Nobody sleeps longer than a test that failed may leave them. Has a child, and one that was forked twice into a session of its own; tells the numbers of both.
const FAMILY: &str = "sleep 60 & echo $!; sh -c 'setsid sleep 60 & echo $!'; cat";

/// A table of children with the task that reaps for it.
struct Home {
    children: ChildProcesses,
    tasks: TaskTracker,
    leaving: CancellationToken,
}

impl Home {
    fn new() -> Home {
        let children = ChildProcesses::of_own_process().unwrap();
        let (tasks, leaving) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(children.clone().reap_orphans(leaving.clone()));
        Home { children, tasks, leaving }
    }

    async fn leave(self) {
        self.leaving.cancel();
        self.tasks.close();
        timeout(STUCK, self.tasks.wait()).await.expect("the children never end");
    }

    /// Starts a script and reads the process numbers that it prints, one a line; `cat` ends it by the end of its input.
    fn start(&self, script: &str, kin: SpawnOrigin, lines: usize) -> (OwnChild, ChildStdin, Vec<i32>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = self.children.spawn(&mut command, kin).unwrap();
        let stdin = child.take_stdin().unwrap();
        let printed = BufReader::new(child.take_stdout().unwrap()).lines();
        let numbers = printed.take(lines).map(|line| line.unwrap().trim().parse().unwrap());
        let numbers = numbers.collect();
        (child, stdin, numbers)
    }

    fn admits(&self, pid: i32) -> Result<(), BarredPeer> {
        self.children.admits(Some(pid))
    }

    fn assert_barred(&self, pid: i32, child: Option<i32>) {
        assert_eq!(self.admits(pid), Err(BarredPeer::Descends { peer: pid, child }));
    }
}

fn number(child: &OwnChild) -> i32 {
    child.pid().as_raw_nonzero().get()
}

fn is_there(pid: i32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap()
}

/// Waits until a process is reaped.
async fn gone(pid: i32) {
    let going = async {
        while is_there(pid) {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, going).await.unwrap_or_else(|_| panic!("process {pid} is still there"));
}

/// Waits until a process is a child of this one.
async fn adopted(pid: i32) {
    let adopting = async {
        while ProcessEntry::read(Path::new(table::PROC), pid).unwrap().parent != own_number() {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, adopting).await.unwrap_or_else(|_| panic!("process {pid} has another parent"));
}

#[tokio::test]
async fn whoever_descends_from_a_tool_is_refused_however_they_hide() {
    if !is_alone("whoever_descends_from_a_tool_is_refused_however_they_hide", PLAINLY) {
        return;
    }
    let home = Home::new();
    let (mut tool, stdin, numbers) = home.start(FAMILY, SpawnOrigin::Tool, 2);
    let [grandchild, detached] = numbers[..] else { panic!("{numbers:?}") };
    adopted(detached).await;
    home.assert_barred(number(&tool), Some(number(&tool)));
    home.assert_barred(grandchild, Some(number(&tool)));
    home.assert_barred(detached, Some(detached));
    home.assert_barred(own_number(), None);
    // What a call that goes on has left may go on as well.
    assert_eq!(home.children.sweep(ReapPhase::Running), reaper::ReapCount::default());
    assert!(is_there(detached));

    // All of it ends with the call.
    drop(stdin);
    assert!(tool.wait().unwrap().success());
    gone(grandchild).await;
    gone(detached).await;
    for pid in [number(&tool), grandchild, detached] {
        assert!(matches!(home.admits(pid), Err(BarredPeer::Unknown { .. })), "who is gone is not let in");
    }
    assert_eq!(home.children.admits(None), Err(BarredPeer::Unnamed));
    assert_eq!(home.children.admits(Some(0)), Err(BarredPeer::Unnamed));
    // Others are as welcome as before.
    assert_eq!(home.admits(std::os::unix::process::parent_id().cast_signed()), Ok(()));
    home.leave().await;
}

#[tokio::test]
async fn the_owners_own_program_is_let_in_while_it_lives_and_what_it_leaves_is_left_alone() {
    let name = "the_owners_own_program_is_let_in_while_it_lives_and_what_it_leaves_is_left_alone";
    if !is_alone(name, PLAINLY) {
        return;
    }
    let home = Home::new();
    let (mut ours, stdin, numbers) = home.start(FAMILY, SpawnOrigin::Ours, 2);
    let [grandchild, detached] = numbers[..] else { panic!("{numbers:?}") };
    adopted(detached).await;
    let (_tool, _open, _) = home.start("cat", SpawnOrigin::Tool, 0);
    assert_eq!(home.admits(number(&ours)), Ok(()));
    assert_eq!(home.admits(grandchild), Ok(()));
    // Who left the tree is nobody's any more.
    home.assert_barred(detached, Some(detached));

    drop(stdin);
    assert!(ours.wait().unwrap().success());
    home.children.sweep(ReapPhase::Running);
    for pid in [grandchild, detached] {
        // Nobody of them is let in now.
        adopted(pid).await;
        home.assert_barred(pid, Some(pid));
        assert!(is_there(pid));
    }
    home.leave().await;
    for pid in [grandchild, detached] {
        assert!(is_there(pid), "it was ended");
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
}

#[tokio::test]
async fn whoever_takes_off_their_mark_ends_at_once_and_who_was_there_before_does_not() {
    let name = "whoever_takes_off_their_mark_ends_at_once_and_who_was_there_before_does_not";
    // The shell that becomes the daemon has a child already.
    let words = r#"sleep 60 & export BEFORE=$!; exec "$0" "$@""#;
    if !is_alone(name, words) {
        return;
    }
    let before: i32 = std::env::var("BEFORE").unwrap().parse().unwrap();
    let home = Home::new();
    let (tool, _open, numbers) =
        home.start("sh -c 'env -i setsid sleep 60 & echo $!'; cat", SpawnOrigin::Tool, 1);
    adopted(numbers[0]).await;
    // Until it has executed what takes its mark off, it has it.
    let ending = async {
        while is_there(numbers[0]) {
            home.children.sweep(ReapPhase::Running);
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, ending).await.expect("it goes on");
    assert!(!tool.has_ended().unwrap());
    home.assert_barred(before, Some(before));
    drop(tool);
    home.leave().await;
    assert!(is_there(before));
    kill_process(Pid::from_raw(before).unwrap(), Signal::KILL).unwrap();
}

#[tokio::test]
async fn nobody_reaps_a_child_but_its_owner_and_who_is_dropped_ends() {
    if !is_alone("nobody_reaps_a_child_but_its_owner_and_who_is_dropped_ends", PLAINLY) {
        return;
    }
    const CHILDREN: usize = 100;
    let home = Home::new();
    let starting = home.children.clone();
    let ended = tokio::task::spawn_blocking(move || {
        let run = |kin| starting.spawn(&mut Command::new("true"), kin)?.wait();
        (0..CHILDREN)
            .map(|at| run(if at % 2 == 0 { SpawnOrigin::Ours } else { SpawnOrigin::Tool }))
            .collect::<Vec<_>>()
    });
    let sweeping = home.children.clone();
    let sweeps = async {
        loop {
            let again = sweeping.clone();
            tokio::task::spawn_blocking(move || again.sweep(ReapPhase::Running)).await.unwrap();
        }
    };
    let ended = tokio::select! { ended = ended => ended.unwrap(), () = sweeps => unreachable!() };
    for status in ended {
        assert!(status.unwrap().success());
    }
    let (tool, _open, _) = home.start("cat", SpawnOrigin::Tool, 0);
    let pid = number(&tool);
    drop(tool);
    gone(pid).await;
    assert!(home.children.register().living.is_empty());
    // What was left when the daemon ends goes with it.
    let (tool, open, numbers) = home.start("sh -c 'setsid sleep 60 & echo $!'; cat", SpawnOrigin::Tool, 1);
    adopted(numbers[0]).await;
    home.leave().await;
    gone(numbers[0]).await;
    drop((tool, open));
}

#[test]
fn in_a_shared_process_everybody_is_let_in_and_children_end_when_they_are_dropped() {
    let children = ChildProcesses::default();
    let child = children.spawn(Command::new("sleep").arg("60"), SpawnOrigin::Tool).unwrap();
    let pid = number(&child);
    assert_eq!(children.admits(Some(pid)), Ok(()));
    drop(child);
    assert!(!is_there(pid));
    let missing = children.spawn(&mut Command::new("/no/such/program"), SpawnOrigin::Tool);
    assert_eq!(missing.map(drop).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(children.register().living.is_empty());
}
