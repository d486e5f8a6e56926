-- Sessions that were deleted and whose events are still being taken away, a piece at a time: those up to `seq`, where the tombstone
-- stood in the log's order. No projection: the log is without these events once the row is gone.
create table removals (
    session_id text primary key,
    seq        integer not null
) strict, without rowid;
