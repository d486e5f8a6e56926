-- A trace says of each changed file whether the change was undone. `file.restored` belongs to a session and to no run, and a trace
-- does not read its whole session for the few of them.
create index events_restored on events (session_id, seq) where type = 'file.restored';
