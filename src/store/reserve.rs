//! Room for the time when there is none: a file that is given up when the disk is full, so that what must be written
//! still can be (spec 11, promise 8).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FallocateFlags, fallocate, statvfs},
    io::Errno,
};
use tokio::sync::watch;

use super::StoreError;

/// What is kept (spec 11, promise 8).
pub(super) const RESERVE_BYTES: u64 = 16 << 20;

/// Free space that must be there beside the reserve before work goes on, so that it does not stop again at once: about
/// what the write-ahead log grows to between two foldings.
pub(super) const MARGIN_BYTES: u64 = 16 << 20;

/// With less free space, an error of reading or writing files is taken for a full disk: SQLite does not always say.
const NO_ROOM_BYTES: u64 = 1 << 20;

/// SQLite's primary result codes that a full disk can hide behind.
const IO_ERROR: u32 = 10;
const CANNOT_OPEN: u32 = 14;

/// The reserve on the disk. Blocking.
pub(super) struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    pub fn new(folder: &Path) -> DiskReserve {
        DiskReserve { path: folder.join("reserve") }
    }

    /// Takes the room, if `margin` bytes are free beside it.
    pub fn take(&self, margin: u64) -> io::Result<()> {
        let taken = fs::metadata(&self.path).map_or(0, |metadata| metadata.blocks() * 512);
        let missing = RESERVE_BYTES.saturating_sub(taken);
        if self.free_bytes()? < missing + margin {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if missing == 0 {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&self.path)?;
        let filled = match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Err(Errno::OPNOTSUPP) => fill(file),
            done => done.map_err(io::Error::from),
        };
        if filled.is_err() {
            // What was taken of it is needed more elsewhere.
            self.give_up()?;
        }
        filled
    }

    /// Gives the room to whoever writes next. Fine when it was given before.
    pub fn give_up(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let system = statvfs(folder)?;
        Ok(system.f_bavail.saturating_mul(system.f_frsize))
    }
}

/// Where the file system cannot set room aside, zeros do.
fn fill(mut file: File) -> io::Result<()> {
    const CHUNK: usize = 1 << 20;
    let zeros = vec![0; CHUNK];
    let mut left = RESERVE_BYTES;
    while left != 0 {
        file.write_all(&zeros)?;
        left = left.saturating_sub(CHUNK as u64);
    }
    file.sync_all()
}

/// Whether there is room to write, and the reserve. The writer owns it.
pub(super) struct DiskSpace {
    reserve: std::sync::Arc<DiskReserve>,
    is_full: watch::Sender<bool>,
}

impl DiskSpace {
    /// Takes the reserve. Missing space for it is no reason not to start; the second value says that it is missing.
    pub async fn new(folder: &Path, is_full: watch::Sender<bool>) -> (DiskSpace, Option<String>) {
        let room = DiskSpace { reserve: std::sync::Arc::new(DiskReserve::new(folder)), is_full };
        let missing = room.blocking(|reserve| reserve.take(0)).await.err().map(|error| {
            format!(
                "no room for the reserve of {} MiB beside the database, which a full disk would need: {error}",
                RESERVE_BYTES >> 20
            )
        });
        if let Some(missing) = &missing {
            tracing::warn!("{missing}");
        }
        (room, missing)
    }

    pub fn is_full(&self) -> bool {
        *self.is_full.borrow()
    }

    /// The disk is full: gives up the reserve. False when that was done before.
    pub async fn use_reserve(&mut self) -> bool {
        let is_news = !self.is_full.send_replace(true);
        if is_news {
            tracing::error!(
                "the disk is full; nothing but what must be is written until there is room again"
            );
            if let Err(error) = self.blocking(DiskReserve::give_up).await {
                tracing::warn!(%error, "the reserve could not be given up");
            }
        }
        is_news
    }

    /// Takes the reserve again, if there is room for it and for some work. True when the disk is not full any more.
    pub async fn refill(&mut self) -> bool {
        let has_room = self.blocking(|reserve| reserve.take(MARGIN_BYTES)).await.is_ok();
        if has_room {
            tracing::info!("there is room on the disk again");
            self.is_full.send_replace(false);
        }
        has_room
    }

    /// The same error, or [`StoreError::Full`] when that is what it comes from.
    pub async fn explain(&self, error: StoreError) -> StoreError {
        let StoreError::Database(database) = &error else { return error };
        let code =
            database.as_database_error().and_then(|it| it.code()).and_then(|it| it.parse::<u32>().ok());
        // The low byte is the primary code.
        let is_doubtful = code.is_some_and(|code| [IO_ERROR, CANNOT_OPEN].contains(&(code & 0xff)));
        if !is_doubtful {
            return error;
        }
        match self.blocking(|reserve| reserve.free_bytes()).await {
            Ok(free) if free < NO_ROOM_BYTES => StoreError::Full,
            _ => error,
        }
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&DiskReserve) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let reserve = std::sync::Arc::clone(&self.reserve);
        match tokio::task::spawn_blocking(move || work(&reserve)).await {
            Ok(done) => done,
            // It cannot be cancelled: nobody holds its handle but this.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserve_takes_its_room_and_gives_it_up() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = DiskReserve::new(dir.path());
        let taken = || fs::metadata(dir.path().join("reserve")).map_or(0, |it| it.blocks() * 512);
        reserve.take(0).unwrap();
        assert!(RESERVE_BYTES <= taken(), "{}", taken());
        reserve.take(0).unwrap();
        reserve.give_up().unwrap();
        reserve.give_up().unwrap();
        assert_eq!(taken(), 0);
        let refused = reserve.take(u64::MAX / 2).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(taken(), 0, "half a reserve helps nobody");
    }

    #[test]
    fn zeros_take_room_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("zeros");
        fill(File::create(&path).unwrap()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), RESERVE_BYTES);
    }
}
