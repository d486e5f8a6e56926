-- The session that began last in a folder in which agents work, or have worked, and when: known also when it is deleted, so that a
-- person who looks at these folders can tell where they come from.
alter table worked_folders add column session_id text;
alter table worked_folders add column last_us integer;

update worked_folders set session_id = found.session_id, last_us = found.last_us
from (
    select root.value as folder, sessions.session_id as session_id, max(sessions.created_us) as last_us
    from sessions, json_each(sessions.roots) as root
    group by root.value
) as found
where worked_folders.folder = found.folder;
