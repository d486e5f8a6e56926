-- With which files programs that the settings name may be run, as `program.noted` said last. A projection like `trust`: it can be
-- rebuilt from the log. Logs of before have no such event, so what their daemons ran is noted when it is run next.
create table noted_programs (
    program_id text primary key,
    seq        integer not null,
    noted      text not null
) strict, without rowid;
