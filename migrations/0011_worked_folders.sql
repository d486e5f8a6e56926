-- The folders in which agents work, or have worked. An agent may have written whatever lies there, so they are known also when
-- the sessions are deleted.
create table worked_folders (
    folder text primary key
) strict, without rowid;

insert into worked_folders (folder)
select distinct root.value from sessions, json_each(sessions.roots) as root;
