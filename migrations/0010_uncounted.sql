-- How sure the sums of what models used are: requests whose tokens are an estimate, and those of which nobody knows what they
-- used. Of runs of earlier versions the first is told by `usage`; the second was not told.
alter table runs add column estimated_requests integer not null default 0;
alter table runs add column uncounted_requests integer not null default 0;
alter table usage add column uncounted_calls integer not null default 0;

update runs set estimated_requests = (select sum(estimated_calls) from usage where usage.run_id = runs.run_id)
where run_id in (select run_id from usage where estimated_calls > 0);
