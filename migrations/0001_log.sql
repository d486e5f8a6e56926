-- The log is the truth; `sessions`, `contexts` and `runs` are projections of it, written in the same
-- transaction by one function and rebuildable from the events. `meta` alone is no projection: it names the
-- log and remembers how the last daemon stopped.
create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- `body` is byte for byte what clients see as `data`; `head` the other fields of the envelope; `private`
-- what clients never see.
create table events (
    seq        integer primary key,
    time_us    integer not null,
    type       text not null,
    session_id text,
    run_id     text,
    context_id text,
    head       text not null,
    body       text not null,
    private    text
) strict;

create index events_by_session on events (session_id, seq) where session_id is not null;
create index events_by_run on events (run_id, seq) where run_id is not null;

create table sessions (
    session_id     text primary key,
    roots          text not null,
    title          text,
    created_us     integer not null,
    last_active_us integer not null
) strict, without rowid;

create table contexts (
    context_id text primary key,
    session_id text not null,
    agent      text not null,
    created_us integer not null
) strict, without rowid;

create index contexts_by_session on contexts (session_id);

create table runs (
    run_id          text primary key,
    session_id      text not null,
    context_id      text not null,
    parent_run_id   text,
    agent           text not null,
    digest          text not null,
    model           text not null,
    state           text not null,
    started_seq     integer not null,
    started_us      integer not null,
    ended_us        integer,
    turns           integer not null,
    tool_calls      integer not null,
    prompt_tokens   integer not null,
    cached_tokens   integer not null,
    output_tokens   integer not null,
    thought_tokens  integer not null,
    active_us       integer not null,
    open_stream     text,
    open_stream_seq integer,
    completed       text
) strict, without rowid;

create index runs_by_session on runs (session_id, started_seq);
create index runs_unfinished on runs (started_seq) where state <> 'ended';
create index runs_by_state on runs (state);
