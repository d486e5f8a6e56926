-- Extensions that a person installed, as `extension.changed` said last. A projection like `noted_programs`: it can be rebuilt from the
-- log. What they bring along lies in files; by the digest in here each is known to be what was installed.
create table extensions (
    name      text primary key,
    seq       integer not null,
    installed text not null
) strict, without rowid;
