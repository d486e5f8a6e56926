-- The log is the truth; `sessions`, `contexts`, `runs`, `routes`, `usage`, `confirmations`, `outputs`, `remembered_rules` and `trust` are projections
-- of it, written in the same transaction by one function and rebuildable from the events. `meta`, `idempotency` and `consumers` are no projections:
-- the first names the log and remembers how the last daemon stopped, the second remembers answers for those who ask
-- twice, the third how far clients have read.
create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- `body` is byte for byte what clients see as `data`; `head` the other fields of the envelope; `private`
-- what clients never see. Events of a context are found through its runs, hence the check.
create table events (
    seq        integer primary key,
    time_us    integer not null,
    type       text not null,
    session_id text,
    run_id     text,
    context_id text,
    head       text not null,
    body       text not null,
    private    text,
    check (context_id is null or run_id is not null)
) strict;

create index events_by_session on events (session_id, seq) where session_id is not null;
create index events_by_run on events (run_id, seq) where run_id is not null;

create table sessions (
    session_id     text primary key,
    roots          text not null,
    title          text,
    agent          text,
    state          text not null,
    mode           text not null,
    ephemeral      integer not null,
    created_us     integer not null,
    last_active_us integer not null
) strict, without rowid;

create index sessions_by_activity on sessions (last_active_us, session_id);

-- `parent_run_id` is set when the context belongs to one run that an agent called as a tool. `epoch` counts how often what
-- its model reads was replaced, `tokens` is the size of its last prompt.
create table contexts (
    context_id     text primary key,
    session_id     text not null,
    agent          text not null,
    parent_run_id  text,
    created_us     integer not null,
    last_active_us integer not null,
    epoch          integer not null default 0,
    tokens         integer not null default 0
) strict, without rowid;

create index contexts_by_session on contexts (session_id, created_us, context_id);

-- `cost_nanos`, in billionths of a dollar, is of what was used at a known price; null = nothing was.
-- `first_seq` is the run's first event and never changes, so lists page by it; `started_seq` is its `run.started`,
-- null until it has begun. `queue_rank` orders those that wait for the same thing, the lowest first.
create table runs (
    run_id          text primary key,
    session_id      text not null,
    context_id      text not null,
    parent_run_id   text,
    parent_call_id  text,
    root_run_id     text not null,
    depth           integer not null,
    agent           text not null,
    digest          text not null,
    model           text not null,
    query           text not null,
    prompt          text,
    state           text not null,
    queued_for      text,
    queue_rank      integer,
    first_seq       integer not null,
    started_seq     integer,
    started_us      integer not null,
    ended_us        integer,
    turns           integer not null,
    turn_seq        integer,
    tool_calls      integer not null,
    replies         integer not null,
    prompt_tokens   integer not null,
    cached_tokens   integer not null,
    output_tokens   integer not null,
    thought_tokens  integer not null,
    cache_write_tokens integer not null default 0,
    cost_nanos      integer,
    unpriced_tokens integer not null default 0,
    active_us       integer not null,
    open_stream     text,
    open_stream_seq integer,
    completed       text
) strict, without rowid;

create index runs_by_age on runs (first_seq);
create index runs_by_session on runs (session_id, first_seq);
create index runs_by_agent on runs (agent, first_seq);
create index runs_by_parent on runs (parent_run_id, first_seq) where parent_run_id is not null;
create index runs_by_context on runs (context_id);
create index runs_by_root on runs (root_run_id);
create index runs_unfinished on runs (session_id, first_seq) where state <> 'ended';
create index runs_queued on runs (session_id, context_id, queue_rank) where queued_for = 'context';
create index runs_by_state on runs (state);

-- Runs whose agent was chosen by their prompt, and by which of its triggers; null = none fitted.
create table routes (
    run_id     text primary key,
    session_id text not null,
    agent      text not null,
    trigger    text
) strict, without rowid;

create index routes_by_agent on routes (agent) where trigger is not null;
create index routes_by_session on routes (session_id);

-- What models used, by run, model and minute: a row for every reply would be as many as the log has, and by the minute is as
-- closely as anybody asks. Minutes count since 1970. `cost_nanos` is of the calls whose price was known; null = of none was.
create table usage (
    run_id             text not null,
    model              text not null,
    minute             integer not null,
    calls              integer not null,
    estimated_calls    integer not null,
    prompt_tokens      integer not null,
    cached_tokens      integer not null,
    cache_write_tokens integer not null,
    output_tokens      integer not null,
    thought_tokens     integer not null,
    cost_nanos         integer,
    unpriced_tokens    integer not null,
    primary key (run_id, model, minute)
) strict, without rowid;

-- Written once a row: what is added to a row later names none of its columns.
create index usage_by_minute on usage (minute);

-- Questions to people. `first_seq` is the event that asked and never changes, `subject_seq` the newest that says what is
-- asked, `resolved_seq` the one that ended it. `deadline_us` counts while nobody is there who could answer.
create table confirmations (
    confirmation_id text primary key,
    session_id      text not null,
    run_id          text not null,
    call_id         text,
    first_seq       integer not null,
    subject_seq     integer not null,
    resolved_seq    integer,
    deadline_us     integer
) strict, without rowid;

-- `resolved_seq` is in it so that counting what is open reads nothing else.
create index confirmations_open on confirmations (first_seq, resolved_seq) where resolved_seq is null;
create index confirmations_by_session on confirmations (session_id, first_seq);
create index confirmations_by_run on confirmations (run_id, first_seq);

-- Outputs that were cut for the model and are kept whole beside the database, as the end of their call said.
create table outputs (
    call_id     text primary key,
    session_id  text not null,
    bytes       integer not null,
    total_bytes integer not null
) strict, without rowid;

create index outputs_by_session on outputs (session_id);

-- Calls that clients answer who lend the tools. `told_seq` is the newest `tool.clientCall`, `state` how the call ended,
-- null until then.
create table client_calls (
    call_id    text primary key,
    session_id text not null,
    run_id     text not null,
    client_id  text not null,
    told_seq   integer not null,
    state      text
) strict, without rowid;

create index client_calls_open on client_calls (client_id, told_seq) where state is null;
create index client_calls_by_session on client_calls (session_id);

-- Rules that were remembered from answers, as `policy.changed` said.
create table remembered_rules (
    rule_id text primary key,
    seq     integer not null,
    rule    text not null
) strict, without rowid;

-- What people said about workspaces, as `workspace.trusted` said: one row a workspace whose `path` is empty, and one for
-- each of its files that was acknowledged.
create table trust (
    workspace text not null,
    path      text not null,
    digest    text,
    trusted   integer not null,
    seq       integer not null,
    primary key (workspace, path, digest)
) strict;

-- What a request with an `idempotencyKey` was answered; written in the transaction of its effect. `seq` is the last
-- event of that, which was not known yet when `result` was made.
create table idempotency (
    key           text primary key,
    method        text not null,
    params_digest text not null,
    result        text not null,
    seq           integer not null,
    session_id    text,
    run_id        text,
    created_us    integer not null
) strict, without rowid;

create index idempotency_by_age on idempotency (created_us);
create index idempotency_by_session on idempotency (session_id) where session_id is not null;

-- Everything up to `seq` was acknowledged under this name; it never goes back.
create table consumers (
    name    text primary key,
    seq     integer not null,
    used_us integer not null
) strict, without rowid;
