//! Opening: files and their modes, the lock, pragmas, migrations.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use sqlx::{
    ConnectOptions as _, Connection as _, SqlSafeStr as _,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::{
        SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
        SqlitePoolOptions, SqliteSynchronous,
    },
};

use super::StoreError;
use protocol::EventSeq;
use sys::ids;

/// Every migration, oldest first: version, name, SQL. A test holds this list equal to the folder.
pub const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "log", include_str!("../../migrations/0001_log.sql")),
    (2, "grants", include_str!("../../migrations/0002_grants.sql")),
    (3, "prompt", include_str!("../../migrations/0003_prompt.sql")),
    (5, "programs", include_str!("../../migrations/0005_programs.sql")),
    (6, "removals", include_str!("../../migrations/0006_removals.sql")),
    (7, "extensions", include_str!("../../migrations/0007_extensions.sql")),
    (8, "edits", include_str!("../../migrations/0008_edits.sql")),
    (9, "restored", include_str!("../../migrations/0009_restored.sql")),
    (10, "uncounted", include_str!("../../migrations/0010_uncounted.sql")),
    (11, "worked_folders", include_str!("../../migrations/0011_worked_folders.sql")),
    (12, "wire_terms", include_str!("../../migrations/0012_wire_terms.sql")),
    (13, "worked_sessions", include_str!("../../migrations/0013_worked_sessions.sql")),
];

/// Read-only connections. Two, so that one long page does not hold up short reads; not more, since each is a thread
/// and they take turns with the writer's: with four, 64 writers and 4 busy readers got a quarter less written, and
/// no more read.
const READERS: u32 = 2;

/// More of them, for the short reads behind requests that are never refused for load (spec 01, "Errors"): these must not
/// queue behind the pages of whoever reads the log.
const CONTROL_READERS: u32 = 1;

/// Page cache of each connection in KiB (negative, as SQLite spells it). Small: memory is counted, and the
/// kernel caches the file anyway.
const CACHE_KIB: &str = "-2000";

/// The write-ahead log is folded back after this many pages (of 4 KiB): 16 MiB on disk. Folding syncs twice and writes
/// each changed page once, however often it changed, so rarely is cheap: a quarter of this doubled the time of a
/// commit under load.
const CHECKPOINT_PAGES: &str = "4000";

/// How often, and how far apart, a lock that another daemon holds is tried again: a second in all.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Only a foreign process (a backup, a curious person's shell) can make ours wait.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct OpenedDatabase {
    pub path: PathBuf,
    pub lock: File,
    /// The last time at which somebody held the lock and was at work.
    pub touched: Option<SystemTime>,
    pub writer: SqliteConnection,
    /// For another connection like the writer's.
    pub options: SqliteConnectOptions,
    pub readers: SqlitePool,
    pub control: SqlitePool,
    pub head: EventSeq,
    pub log_id: String,
    pub stopped_cleanly: bool,
}

pub(super) async fn open(state_dir: &Path) -> Result<OpenedDatabase, StoreError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| StoreError::Io { path, error: Arc::new(error) }
    };
    DirBuilder::new().recursive(true).mode(0o700).create(state_dir).map_err(io(state_dir))?;
    let (lock, touched) = wait_for_lock(&state_dir.join("lock")).await?;
    let path = state_dir.join("subagentd.db");
    // Made here, so that it is never readable by others; SQLite gives its side files the same mode.
    let mut file_options = OpenOptions::new();
    file_options.write(true).create(true).truncate(false).mode(0o600);
    let file = file_options.open(&path).map_err(io(&path))?;
    let is_new = file.metadata().map_err(io(&path))?.len() == 0;
    drop(file);

    let options = SqliteConnectOptions::new()
        .filename(&path)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .journal_mode(SqliteJournalMode::Wal)
        // Full, not Normal: `executing` must survive a power cut, or an unsafe call would run twice.
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", CACHE_KIB)
        .pragma("mmap_size", "0")
        .pragma("temp_store", "memory")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES);
    let unusable = |error: sqlx::Error| match StoreError::from(error) {
        StoreError::Database(error) => {
            StoreError::Unusable { path: path.clone(), message: error.to_string() }
        }
        other => other,
    };
    let reading = options.clone().read_only(true);
    // Decided when a file is made; on one that is there it would be a write for nothing.
    let making = options.clone().auto_vacuum(SqliteAutoVacuum::Incremental);
    let first = if is_new { &making } else { &options };
    let mut writer = first.connect().await.map_err(unusable)?;
    migrate(&mut writer, &path).await?;
    make_shrinkable(&mut writer).await?;
    let pool = |connections| {
        SqlitePoolOptions::new()
            .max_connections(connections)
            .min_connections(0)
            // There is no network that could have cut one, so asking each before use is a round trip for nothing.
            .test_before_acquire(false)
            .connect_lazy_with(reading.clone())
    };
    let (readers, control) = (pool(READERS), pool(CONTROL_READERS));
    let head: Option<i64> = sqlx::query_scalar("select max(seq) from events").fetch_one(&mut writer).await?;
    let log_id = log_id(&mut writer).await?;
    let stopped_cleanly = take_clean_mark(&mut writer).await?;
    let head = EventSeq(head.unwrap_or(0));
    Ok(OpenedDatabase {
        path,
        lock,
        touched,
        writer,
        options,
        readers,
        control,
        head,
        log_id,
        stopped_cleanly,
    })
}

/// A daemon that is just ending gives the lock back last.
async fn wait_for_lock(path: &Path) -> Result<(File, Option<SystemTime>), StoreError> {
    for _ in 0..LOCK_TRIES {
        match take_lock(path) {
            Err(StoreError::Locked { .. }) => tokio::time::sleep(LOCK_PAUSE).await,
            settled => return settled,
        }
    }
    take_lock(path)
}

/// The lock, and when it was touched last.
fn take_lock(path: &Path) -> Result<(File, Option<SystemTime>), StoreError> {
    let io = |error| StoreError::Io { path: path.to_owned(), error: Arc::new(error) };
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(io)?;
    match lock.try_lock() {
        Ok(()) => (),
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            // Only for the message; without it the message is shorter.
            let pid = lock.read_to_string(&mut pid).is_ok().then(|| pid.trim().to_owned());
            let pid = pid.filter(|pid| !pid.is_empty());
            return Err(StoreError::Locked { path: path.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(io(error)),
    }
    // Before it is touched by writing.
    let touched = lock.metadata().and_then(|it| it.modified()).ok();
    lock.set_len(0).map_err(io)?;
    writeln!(lock, "{}", std::process::id()).map_err(io)?;
    if let Some(touched) = touched {
        // Holding it is not being at work yet. Where it cannot be put back, less time without a daemon is told than it was.
        lock.set_modified(touched).unwrap_or_default();
    }
    Ok((lock, touched))
}

async fn migrate(writer: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let migrations = MIGRATIONS.iter().map(|(version, name, sql)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let migrator = Migrator::with_migrations(migrations.collect());
    let known = MIGRATIONS.last().map_or(0, |(version, ..)| *version);
    let refuse_newer = |found: i64| StoreError::Newer { path: path.to_owned(), found, known };
    let applied = newest_applied(writer).await?;
    if let Some(found) = applied.filter(|found| known < *found) {
        return Err(refuse_newer(found));
    }
    if let Some(applied) = applied.filter(|applied| *applied < known) {
        back_up(path)?;
        let bytes = fs::metadata(path).map_or(0, |it| it.len());
        tracing::info!(
            from = applied,
            to = known,
            bytes,
            "the database is brought to this version, which may read all of it once; one of gigabytes takes minutes"
        );
    }
    // All of them or none: a file between two versions is one that neither reads, and the next start would copy it over the backup.
    let mut all = writer.begin().await?;
    let migrated = migrator.run_direct(None, &mut *all, false).await;
    match &migrated {
        Ok(()) => all.commit().await?,
        Err(_) => all.rollback().await?,
    }
    match migrated {
        Ok(()) => Ok(()),
        Err(MigrateError::VersionMissing(found)) => Err(refuse_newer(found)),
        Err(MigrateError::VersionMismatch(migration) | MigrateError::Dirty(migration)) => {
            Err(StoreError::Incompatible { path: path.to_owned(), migration })
        }
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
            let is_about_json = error.as_database_error().is_some_and(|it| it.message() == MALFORMED_JSON);
            let seq = if is_about_json { no_json(writer).await } else { None };
            Err(match seq {
                Some(seq) => StoreError::Unreadable {
                    seq,
                    message: format!(
                        "what it holds is no JSON, so {path} stays as the version before wrote it; \
                         go on with that version, or point --state-dir elsewhere",
                        path = path.display()
                    ),
                },
                None => error.into(),
            })
        }
        Err(error) => Err(StoreError::Database(Arc::new(sqlx::Error::Migrate(Box::new(error))))),
    }
}

/// What SQLite says when a function for JSON is given something else (json1).
const MALFORMED_JSON: &str = "malformed JSON";

/// The first event whose body SQLite does not take for JSON: the log was damaged.
async fn no_json(writer: &mut SqliteConnection) -> Option<EventSeq> {
    let found = sqlx::query_scalar("select min(seq) from events where not json_valid(body)");
    found.fetch_one(writer).await.ok().flatten().map(EventSeq)
}

/// Largest file that is rewritten at a start, in bytes: it takes less than a second.
const REWRITTEN_BYTES: i64 = 128 << 20;

/// A file that an older version made keeps its empty pages until it is rewritten: at once when that is quickly done, a larger one
/// when a person asked for it ([`EventStore::shrink_at_next_start`](super::EventStore::shrink_at_next_start)).
async fn make_shrinkable(writer: &mut SqliteConnection) -> Result<(), StoreError> {
    if is_shrinkable(writer).await? {
        return Ok(());
    }
    let bytes: i64 =
        sqlx::query_scalar("select page_count * page_size from pragma_page_count(), pragma_page_size()")
            .fetch_one(&mut *writer)
            .await?;
    let asked: Option<String> = sqlx::query_scalar("select value from meta where key = ?1")
        .bind(REWRITE_ASKED)
        .fetch_optional(&mut *writer)
        .await?;
    if asked.is_none() && REWRITTEN_BYTES < bytes {
        return Ok(());
    }
    tracing::info!(bytes, "the database is rewritten once, so that its file can shrink");
    let rewritten = async {
        sqlx::raw_sql("pragma auto_vacuum = incremental; vacuum").execute(&mut *writer).await?;
        sqlx::query("delete from meta where key = ?1").bind(REWRITE_ASKED).execute(&mut *writer).await
    };
    // It is as good as it was; there may be no room for the second file.
    if let Err(error) = rewritten.await {
        tracing::warn!(%error, "the database could not be rewritten; its file cannot shrink");
    }
    Ok(())
}

/// The key of `meta` that says that a person asked for it.
pub(super) const REWRITE_ASKED: &str = "rewrite";

/// Says if the file's empty pages can be given back to the disk.
pub(super) async fn is_shrinkable(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    /// SQLite's word for incremental.
    const INCREMENTAL: i64 = 2;
    let mode: i64 = sqlx::query_scalar("pragma auto_vacuum").fetch_one(connection).await?;
    Ok(mode == INCREMENTAL)
}

/// `None` for a database that was never migrated.
async fn newest_applied(writer: &mut SqliteConnection) -> Result<Option<i64>, StoreError> {
    let table: Option<String> =
        sqlx::query_scalar("select name from sqlite_schema where name = '_sqlx_migrations'")
            .fetch_optional(&mut *writer)
            .await?;
    if table.is_none() {
        return Ok(None);
    }
    Ok(sqlx::query_scalar("select max(version) from _sqlx_migrations").fetch_one(writer).await?)
}

/// Migrations only go forward, so the file is kept as it was (spec 11, promise 10). No other connection is
/// open and the log was checkpointed at the last close; a leftover WAL is copied too.
fn back_up(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal"] {
        let from = PathBuf::from(format!("{}{suffix}", path.display()));
        let to = PathBuf::from(format!("{}.before-migration{suffix}", path.display()));
        match fs::copy(&from, &to) {
            Ok(_) => (),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (),
            Err(error) => return Err(StoreError::Io { path: to, error: Arc::new(error) }),
        }
    }
    Ok(())
}

async fn log_id(writer: &mut SqliteConnection) -> Result<String, StoreError> {
    sqlx::query("insert into meta (key, value) values ('log_id', ?1) on conflict do nothing")
        .bind(ids::fresh::<String>())
        .execute(&mut *writer)
        .await?;
    Ok(sqlx::query_scalar("select value from meta where key = 'log_id'").fetch_one(writer).await?)
}

/// True if the last daemon at work said that it stopped; from now on, until it is said again, it did not.
async fn take_clean_mark(writer: &mut SqliteConnection) -> Result<bool, StoreError> {
    let value: Option<String> = sqlx::query_scalar("select value from meta where key = 'stopped'")
        .fetch_optional(&mut *writer)
        .await?;
    sqlx::query("insert or replace into meta (key, value) values ('stopped', 'no')").execute(writer).await?;
    Ok(value.is_none_or(|value| value == "yes"))
}

/// The mark that [`take_clean_mark`] of the next start reads.
pub(super) async fn leave_clean_mark(writer: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    remember(writer, "stopped", "yes").await
}

/// Writes down something about this daemon for the next one.
pub(super) async fn remember(
    writer: &mut SqliteConnection,
    key: &str,
    value: &str,
) -> Result<(), sqlx::Error> {
    let statement = sqlx::query("insert or replace into meta (key, value) values (?1, ?2)");
    statement.bind(key).bind(value).execute(writer).await?;
    Ok(())
}
