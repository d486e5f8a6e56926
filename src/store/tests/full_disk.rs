//! What still works when there is no room left?

use std::process::Command;

use super::{
    super::reserve::{MARGIN_BYTES, RESERVE_BYTES},
    *,
};
use sys::clock::ManualClock;

/// A small file system of memory, taken away again at the end.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, said aloud, where this process may not mount.
    fn new(mib: u64) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let size = format!("size={mib}m");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        match mounted {
            Ok(output) if output.status.success() => Some(SmallDisk { folder }),
            refused => {
                eprintln!(
                    "SKIPPED on a real full disk: no small file system can be mounted here: {refused:?}"
                );
                None
            }
        }
    }

    fn ballast(&self) -> std::path::PathBuf {
        self.folder.path().join("ballast")
    }

    /// Leaves no room at all.
    fn fill_up(&self) {
        use std::io::Write as _;
        let mut ballast = std::fs::OpenOptions::new().create(true).append(true).open(self.ballast()).unwrap();
        while ballast.write_all(&[0; 4_096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _left_to_the_system = Command::new("umount").arg("-l").arg(self.folder.path()).status();
    }
}

fn large(run: &str) -> NewEvent {
    let data = SessionCreated {
        roots: vec!["x".repeat(300_000)],
        title: None,
        agent: None,
        mode: Default::default(),
        mode_of_settings: false,
        ephemeral: false,
    };
    NewEvent { session: Some(SessionId::from(run)), ..event(run, data) }
}

#[tokio::test]
async fn full_disk_refuses_work_lets_the_urgent_through_and_opens_when_there_is_room() {
    let Some(disk) = SmallDisk::new((RESERVE_BYTES + MARGIN_BYTES) / (1 << 20) + 16) else { return };
    let tracker = TaskGroup::new();
    let clock = ManualClock::starting_at(Timestamp(0));
    let state = disk.folder.path().join("state");
    let store = EventStore::open(&state, &tracker, clock.clone()).await.unwrap();
    assert!(store.missing_reserve().is_none());
    let mut fullness = store.fullness();
    store.append(whole_run("r")).await.unwrap();
    disk.fill_up();
    let mut written = 1;
    let refused = loop {
        match store.append(vec![large(&format!("n{written}"))]).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk never gets full");
    };
    assert!(matches!(refused, StoreError::Full), "{refused:?}");
    assert!(*fullness.borrow_and_update() && matches!(store.failing(), Some(StoreError::Full)));
    assert!(!state.join("reserve").exists(), "the reserve is given up");
    // Small as they are, ordinary ones are not even tried.
    let refused = store.append(vec![tick("r")]).await;
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    let (_, urgent) = store.append_urgent(vec![tick("r")]).await.unwrap();
    // Reads go on.
    let read = store.page(&LogFilter::run(RunId::from("r")), EventSeq(0), 100).await.unwrap().events;
    assert_eq!(read.last().unwrap().seq, urgent);
    // The looks in between find no room.
    clock.advance(Duration::from_secs(1));
    let refused = store.append(vec![tick("r")]).await;
    assert!(matches!(refused, Err(StoreError::Full)), "{refused:?}");
    std::fs::remove_file(disk.ballast()).unwrap();
    let opened = async {
        // The writer's next pause may begin after the clock was moved.
        while *fullness.borrow() {
            clock.advance(Duration::from_secs(1));
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, opened).await.expect("the room was not noticed");
    assert!(store.failing().is_none() && state.join("reserve").exists());
    let (_, last) = store.append(vec![tick("r")]).await.unwrap();
    assert_eq!(last, EventSeq(urgent.0 + 1));
    close(store, tracker).await;
}

#[tokio::test]
async fn start_without_room_for_the_reserve_is_told() {
    let Some(disk) = SmallDisk::new(8) else { return };
    let (store, tracker) = open(disk.folder.path()).await;
    assert!(store.missing_reserve().is_some_and(|it| it.contains("16 MiB")));
    store.append(vec![tick("r")]).await.unwrap();
    close(store, tracker).await;
}
