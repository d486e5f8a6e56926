-- When a rule that was remembered from an answer last let a call run, for whoever looks which of them are still good for
-- something. Of calls before this nobody knows by which rule they ran.
alter table remembered_rules add column last_used_us integer;
