// The protocol of subagentd, version 2. Generated from the daemon's types; README.md explains it.
// Enums that the daemon sends are open, and objects grow: skip what you do not know.

/** What an agent's own file says of which calls ask. */
export interface AgentApproval {
  /** Risks of calls that run without asking where no rule speaks. */
  autoApprove: Risk[];
  /** Which calls it makes stricter, in the order of the file; a later one beats those before it. */
  rules?: AgentToolRule[];
}

/** One thing that was looked at. */
export interface AgentCheck {
  /** What holds, e.g. `front matter is valid YAML`. */
  check: string;
  outcome: CheckOutcome;
  /** The reason why it is not a pass, with places; one entry a finding. */
  findings?: string[];
}

/** What became of an agent's file. */
export type AgentFileState =
  /** It was read as it is. */
  | "ok"
  /** Something in it is not what YAML wants, and was read as it was meant; a problem says what. */
  | "repaired"
  /** It holds no agent; a problem says why. */
  | "rejected"
  | (string & {});

/** Which product's way of writing agents a file follows. */
export type AgentFormat =
  /** Ours. */
  | "own"
  /** Claude Code's subagents. */
  | "claude"
  /** Gemini CLI's agents. */
  | "gemini"
  /** OpenCode's agents. */
  | "opencode"
  | (string & {});

/** An agent's name: `[a-z0-9._-]`, at most 64 characters. */
export type AgentName = string;

/** What came from a URL. */
export interface AgentOrigin {
  /** As it was given, but for what could be a secret in it. */
  url: string;
  /**
   * `sha256:<hex>`: of one file over its bytes; of a repository over a line for each file that was taken, in
   * the order of the paths' bytes: the SHA-256 of its bytes in hexadecimal, two blanks, its path in the
   * repository, a newline. It is what `sha256sum PATHS | sha256sum` prints of these paths.
   */
  digest: string;
  /** Of a repository: the commit, in hexadecimal. */
  commit?: string | null;
}

/** Which agent a prompt goes to, and why. */
export interface AgentRoute {
  agent: AgentName;
  /** The trigger that fits; missing when none does, and the session's usual agent is taken. */
  trigger?: RoutingTrigger | null;
  /** Keywords as the file has them, or what the expression found. */
  matched?: string[];
  /** Other agents whose triggers fit, the best first. */
  runnersUp?: AlternativeRoute[];
}

/** Where an agent comes from; higher places hide lower ones. */
export type AgentScope = "builtin" | "user" | "project" | (string & {});

/** Whether an agent can be started. */
export type AgentStatus =
  | "ok"
  /** From a workspace nobody has trusted yet; starting it answers `WORKSPACE_NOT_TRUSTED`. */
  | "untrusted"
  /** The file has errors; see `problems`. */
  | "invalid"
  /** An agent of the same name in a higher place, or earlier in the same place, is used instead. */
  | "hidden"
  /**
   * The setting `agents.overrides` switches it off, or its own file does; starting it answers
   * `AGENT_NOT_READY`.
   */
  | "disabled"
  /**
   * It cannot be started in this version: it is a remote agent, or its file asks for what would not be held
   * to (`guardrails`, `handoffs`, `memory`, `graph`; of other products also `hooks` and `isolation`; see
   * `problems`). Starting it answers `AGENT_NOT_READY`.
   */
  | "notReady"
  /**
   * Its file, which was written for another product, names a model that is not known here. It can be started;
   * which model answers, and how to say what is meant, stands in `problems`.
   */
  | "unresolved"
  | (string & {});

/** An agent as `agents/list` shows it. */
export interface AgentSummary {
  name: AgentName;
  title: string;
  description?: string | null;
  /** As the definition names it; `inherit` when it names none. */
  model: string;
  /** For whoever shows it: `#RRGGBB`, or one of CSS's sixteen basic colour names. */
  color?: string | null;
  scope: AgentScope;
  /** Whose way of writing its file follows. */
  format?: AgentFormat;
  /** Whether its file was read as it is, or had to be mended. */
  state?: AgentFileState;
  status: AgentStatus;
  /** Missing for built-in agents. */
  path?: string | null;
  /** SHA-256 of the file's bytes, as `sha256:<hex>`. */
  digest: string;
  /** The path (or `built in`) of the agent that is used instead. */
  hiddenBy?: string | null;
  problems?: FileProblem[];
  /** Names of the inputs, required ones first. */
  inputs: string[];
}

/** What an agent's own file says of calls of one tool. */
export interface AgentToolRule {
  /** A name or a pattern. */
  tool: ToolName;
  /**
   * Which calls: of the shell the beginning of a command (`git:*`, `git status *`) or a whole one (`npm
   * test`), of `web_fetch` a host (`domain:example.com`). `None` = every call.
   */
  about?: string | null;
  /** `allow` only lifts what an earlier one of the file says. */
  decision: Verdict;
}

/** A file that was written. */
export interface AgentWrittenResult {
  name: AgentName;
  scope: AgentScope;
  path: string;
  /**
   * Of what stands there now. A project's file is acknowledged by making it, and stays so when it is changed
   * through the daemon; what nobody had acknowledged is not by a change.
   */
  digest: string;
  /** Warnings; a file with errors is not written. */
  problems?: FileProblem[];
  /** Of the last event that it caused; missing when the file says what it said before. */
  seq?: EventSeq | null;
  /** The answer of an earlier request with the same key. */
  replayed?: boolean;
}

export interface AgentsAcknowledgeParams {
  name: AgentName;
  /** As `agents/get` or `WORKSPACE_NOT_TRUSTED` told it. */
  digest: string;
  workspace: WorkspaceParam;
}

export interface AgentsAcknowledgeResult {
  name: AgentName;
  seq: EventSeq;
}

/** Data of `agents.changed`. */
export interface AgentsChanged {
  /** The folders of the workspace that brings them along; missing when they are the user's own. */
  workspace?: string[];
  added?: ChangedAgent[];
  /** Files that say something else than before, and agents that can be started now or cannot any more. */
  changed?: ChangedAgent[];
  /** As they were. */
  removed?: ChangedAgent[];
  /** How many more there are that are not listed; `agents/list` has all. */
  more?: number;
  /** Where they came from, when a request brought them in from a URL. */
  origin?: AgentOrigin | null;
}

/**
 * What the file says is given in one way: its `text`, or fields in `definition`, over a template or alone.
 */
export interface AgentsCreateParams {
  /** A template's name, see `agents/templates`; the fields of `definition` take the place of its own. */
  template?: string | null;
  /** Fields of the front matter, as `agent.schema.json` has them, and `prompt`, the text below it. */
  definition?: Record<string, unknown> | null;
  /** A whole file, as it is written; its `name` says what it is called. */
  text?: string | null;
  /** Where it goes [default: the setting `agents.defaultScope`]. */
  scope?: AgentScope | null;
  /** Needed for the scope `project`: the first of its folders takes the file. */
  workspace?: WorkspaceParam | null;
  /** A file that is there already may be replaced; it goes to the trash. */
  overwrite?: boolean;
  idempotencyKey?: IdempotencyKey | null;
}

export interface AgentsDeleteParams {
  name: AgentName;
  /** Only the agent of this place; missing = the one that a run would use. */
  scope?: AgentScope | null;
  workspace?: WorkspaceParam | null;
  contexts?: DeletedAgentContexts;
  idempotencyKey?: IdempotencyKey | null;
}

export interface AgentsDeleteResult {
  name: AgentName;
  scope: AgentScope;
  /** Where it was. */
  path: string;
  /** Where it is now. */
  trash: string;
  /** Sessions whose context of the agent was emptied. */
  cleared: number;
  /** Sessions in which the agent has a run; their contexts stay. */
  busy: number;
  seq?: EventSeq | null;
  replayed?: boolean;
}

export interface AgentsExportParams {
  names: AgentName[];
  /** [default: ours] */
  format?: AgentFormat;
  workspace?: WorkspaceParam | null;
}

export interface AgentsExportResult {
  files: ExportedAgent[];
}

export interface AgentsGetParams {
  name: AgentName;
  /** Only the agent of this place; missing = the one that a run would use. */
  scope?: AgentScope | null;
  /** Looks among this workspace's project agents too. */
  workspace?: WorkspaceParam | null;
}

/** An agent as `agents/list` shows it. */
export interface AgentsGetResult {
  name: AgentName;
  title: string;
  description?: string | null;
  /** As the definition names it; `inherit` when it names none. */
  model: string;
  /** For whoever shows it: `#RRGGBB`, or one of CSS's sixteen basic colour names. */
  color?: string | null;
  scope: AgentScope;
  /** Whose way of writing its file follows. */
  format?: AgentFormat;
  /** Whether its file was read as it is, or had to be mended. */
  state?: AgentFileState;
  status: AgentStatus;
  /** Missing for built-in agents. */
  path?: string | null;
  /** SHA-256 of the file's bytes, as `sha256:<hex>`. */
  digest: string;
  /** The path (or `built in`) of the agent that is used instead. */
  hiddenBy?: string | null;
  problems?: FileProblem[];
  /** Names of the inputs, required ones first. */
  inputs: string[];
  /** The system prompt's template; missing for a file with errors, like all below. */
  prompt?: string | null;
  /** Template of the first user message. */
  query?: string | null;
  inputSpecs?: InputSpec[];
  /** The tools a run would get, `complete_task` among them. */
  tools?: string[];
  /** What its file says of asking. */
  approval: AgentApproval;
  /**
   * How closely its file wants its commands confined; the settings may confine them further. Missing = as
   * they say.
   */
  sandbox?: SandboxProfile | null | string;
  /** The front matter of a file of ours that says the same, see `agent.schema.json`. */
  definition?: Record<string, unknown> | null;
  /** The whole file, as it is written. Missing when it cannot be read, and when it is changing. */
  text?: string | null;
  /** What the file would say if it were written right; of one that had to be mended. */
  corrected?: string | null;
  /** When the file was made, where the file system keeps that; and when it was written to last. */
  createdAt?: Timestamp | null;
  updatedAt?: Timestamp | null;
  /** Which prompts are for it, in the order of the file, and what came of that. */
  triggers?: TriggerUse[];
}

export interface AgentsImportParams {
  /** Files, and folders that are read with those below them; absolute. */
  paths?: string[];
  /**
   * Instead of `paths`: one file (`https://…`), or a repository that the daemon's `git` fetches
   * (`https://….git`, `ssh://…`, `git@host:…`, `file:///…`; with `git+` before it any https URL is one), of
   * which the newest commit is taken, or that of a branch, a tag or a whole commit id behind `#`. At most 1
   * MiB a file, 16 MiB and 10,000 files a repository. Users and passwords in an https URL are refused.
   */
  url?: string | null;
  /**
   * What must come from `url`, as `origin.digest` said before; with anything else nothing is written
   * (`CONFLICT`). The scope `user` needs it, unless `dryRun`: nobody asks before such an agent is started, so
   * whoever names the digest says that they have read it.
   */
  digest?: string | null;
  /**
   * Whose format they have [default: as the folders above say, `.claude`, `.gemini`, `.opencode`, else as the
   * file looks].
   */
  format?: AgentFormat | null;
  /** Where they go [default: the setting `agents.defaultScope`]. */
  scope?: AgentScope | null;
  /** Needed for the scope `project`. */
  workspace?: WorkspaceParam | null;
  onConflict?: OnConflict;
  /** Nothing is written. */
  dryRun?: boolean;
  idempotencyKey?: IdempotencyKey | null;
}

export interface AgentsImportResult {
  files: ImportedAgent[];
  /** Folders and files that could not be read. */
  problems?: FileProblem[];
  /** What came from the `url`. */
  origin?: AgentOrigin | null;
  seq?: EventSeq | null;
  replayed?: boolean;
}

export interface AgentsListParams {
  /** Lists this workspace's project agents too. */
  workspace?: WorkspaceParam | null;
  /** Also agents that another of the same name hides. */
  includeHidden?: boolean;
  /** Also files that could not be loaded. */
  includeInvalid?: boolean;
}

export interface AgentsListResult {
  agents: AgentSummary[];
  /** Of folders and files that could not be looked into. */
  problems?: FileProblem[];
}

export interface AgentsReloadParams {
  /** Reads this workspace's project agents anew, too. */
  workspace?: WorkspaceParam | null;
}

/** What is other than it was when it was told last, at most 1,000 of each. */
export interface AgentsReloadResult {
  added: ChangedAgent[];
  changed: ChangedAgent[];
  /** As they were. */
  removed: ChangedAgent[];
  /** Of the last `agents.changed` it caused; missing when nothing changed. */
  seq?: EventSeq | null;
}

export interface AgentsRouteParams {
  prompt: string;
  /** Looks among this workspace's project agents too. */
  workspace?: WorkspaceParam | null;
  /** As a run in this session would be routed. Not beside `workspace`. */
  sessionId?: SessionId | null;
}

export interface AgentsTemplatesParams {
  /** Also the templates among the agents of this workspace, if it is trusted. */
  workspace?: WorkspaceParam | null;
}

export interface AgentsTemplatesResult {
  /**
   * The built-in ones, then the user's own and the workspace's; the first of these of a name counts, and
   * takes the place of a built-in one.
   */
  templates: TemplateSummary[];
  /** What is wrong with those that are not built in. */
  problems?: FileProblem[];
}

/** Exactly one of `text` and `definition`. */
export interface AgentsUpdateParams {
  name: AgentName;
  /** Only the agent of this place; missing = the one that a run would use. */
  scope?: AgentScope | null;
  workspace?: WorkspaceParam | null;
  /** The whole file, in the format that it has. */
  text?: string | null;
  /**
   * Of a file of ours: fields that take the place of its own, `null` to remove one; `prompt` is the text
   * below. All else stays as it is written.
   */
  definition?: Record<string, unknown> | null;
  /** The digest of the file that was changed; with another one there now, nothing is written (`CONFLICT`). */
  digest?: string | null;
  idempotencyKey?: IdempotencyKey | null;
}

/** Exactly one of the fields `name`, `text` and `all`. */
export interface AgentsValidateParams {
  /** One agent that is there. */
  name?: AgentName | null;
  /** A file's text that need not be saved anywhere. */
  text?: string | null;
  /**
   * What the text's file is called, for findings and for an agent that names itself nowhere; it is not read.
   */
  path?: string | null;
  /**
   * Whose format the text has [default: as the path's folders say, `.claude`, `.gemini`, `.opencode`, else as
   * it looks].
   */
  format?: AgentFormat | null;
  /** Every agent there is. */
  all?: boolean;
  /** Looks among this workspace's project agents too. */
  workspace?: WorkspaceParam | null;
}

export interface AgentsValidateResult {
  agents: ValidatedAgent[];
  /** No check failed. */
  valid: boolean;
}

/** An agent that a prompt might have gone to. */
export interface AlternativeRoute {
  agent: AgentName;
  trigger: RoutingTrigger;
  matched: string[];
}

/** What an answer must read as. */
export type AnswerKind =
  | "text" | "number" | "integer"
  /** `yes` or `no`, which are the options; `true` and `false` are taken as well. */
  | "boolean"
  | (string & {});

/** A call whose result a request brings along. */
export interface AnsweredToolCall {
  callId: CallId;
  tool: ToolName;
  /**
   * The result as the model reads it, the first 4 KiB. The span of the call has more; missing when it says
   * nothing.
   */
  result?: SpanText | null;
}

/** How freely a session's calls run where no rule speaks. */
export type ApprovalMode =
  /** What is not `safe` is refused, whatever rules allow. */
  | "plan"
  /** Everything that is not `safe` asks. */
  | "default"
  /** Edits of risk `low` inside the workspace run. */
  | "autoEdit"
  /** Everything but `critical` runs. Needs the setting `approval.allowYolo`. */
  | "yolo"
  | (string & {});

/** How a run's questions are put. What is missing is as the settings say. */
export interface ApprovalParams {
  /** Nobody sits there: questions are denied at once unless `onDetached` says otherwise. */
  headless?: boolean;
  /**
   * Instead of the session's mode, but for `plan`: what is put into it changes nothing, however its runs
   * began.
   */
  mode?: ApprovalMode | null;
  /** Risks whose default ask is dropped; never `critical`. */
  autoApprove?: Risk[];
  audience?: Audience | null;
  onDetached?: OnDetached | null;
  /** For each question, from when it is asked. */
  deadlineMs?: number | null;
  onDeadline?: OnDeadline | null;
}

/** A change of a call's arguments. */
export interface ArgumentChange {
  /** `hook`, or `client`: a person. */
  source: string;
  /** The id of the hook, or the client of the person. */
  name: string;
  /** The time at which the hook or the person had changed them. */
  at: Timestamp;
  /**
   * The names of the arguments that were changed, at most 16 of at most 80 characters; `…` stands for more.
   * Empty where the log tells only what several changes came to, and without full content.
   */
  arguments?: string[];
}

/** Where a subscription begins. */
export type AttachFrom =
  /** After this `seq`. */
  | EventSeq
  | AttachFromKeyword;

export type AttachFromKeyword =
  /** A snapshot, then what happens. */
  | "now"
  /** Everything the log has, then what happens. */
  | "start"
  /** Everything after what `consumer` has acknowledged, then what happens. */
  | "consumer";

/** What a client is attached for. */
export type AttachRole =
  /** Somebody who can be asked. */
  | "control"
  /**
   * Somebody who looks on: is asked nothing, decides nothing, and changes nothing in the session by this
   * connection (`FORBIDDEN`).
   */
  | "observe"
  | (string & {});

/** Who may be asked. */
export type Audience =
  /** Everybody who is attached and can show it. */
  | "all"
  /** Whoever started the run; everybody after so long. */
  | {
    initiatorFirst: {
      graceMs: number;
    };
  }
  /** These alone. */
  | {
    clients: ClientId[];
  }
  | (string & {});

/** How much of what a budget counts. */
export type BudgetAmount = number | Cost;

/** What a budget counts. */
export type BudgetKind = "tokens" | "cost" | (string & {});

/** Limits of a run's tokens and money; a missing one is none, or stays as it is. */
export interface BudgetLimits {
  /** Prompt, output and thought tokens, those of the runs below included. */
  maxTokens?: number | null;
  /** By `models.prices`. */
  maxCost?: Cost | null;
}

/** A person gave the run more than it had. */
export interface BudgetRaised {
  /** What holds from now on; what is missing stays as it was. */
  limits: BudgetLimits;
}

/** What a run and those below it have used. */
export interface BudgetUsed {
  tokens: number;
  /** Missing when nobody told the models' prices. */
  cost?: Cost | null;
  /** Requests among them of which the daemon estimated the tokens, or some of them. */
  estimatedRequests?: number;
  /** Requests of which nobody knows what they used: they count for nothing here. */
  uncountedRequests?: number;
}

export interface BudgetWarning {
  kind: BudgetKind;
  /** By the run and the runs below it. */
  used: BudgetAmount;
  limit: BudgetAmount;
}

/** An MCP server that an extension brings along. */
export interface BundledMcpServer {
  name: string;
  /** A program of it is started, in the sandbox; otherwise it is reached at an address. */
  isProgram: boolean;
  /** The words with which it is started, or the address. */
  commandOrUrl: string;
  /** The variables or headers that its entry sets, each as `NAME=VALUE`. */
  variables: string[];
  /** The reason why it is not used, if it is not: its name is in use, or settings do not allow it. */
  unusedReason?: string | null;
}

/** A skill that an extension brings along. */
export interface BundledSkill {
  name: string;
  description: string;
  /** The reason why it is not used, if it is not: another one goes before it, or settings switch it off. */
  unusedReason?: string | null;
}

/** A decision whether a call runs. */
export interface CallDecision {
  /**
   * `allow`, `deny`, or what a person answered: `allowOnce`, `allowSession`, `modify`, … Of a question that
   * was asked again `edited`, where a hook changed what the person had made of the call, and `stale`, where
   * what the call would touch was not what was shown any more.
   */
  outcome?: string;
  /** The version of the question that was answered, from 2 on. */
  version?: number | null;
  /**
   * `policy`: a rule. `client`: a person. `deadline`, `system`: nobody answered. `agent`: its definition.
   * `grace`: it was the last turn, in which only `complete_task` is there.
   */
  source?: string;
  /** The rule that decided, or that had a person asked. */
  rule?: string | null;
  /** The word that it goes back to, where the rule stands in no file. */
  origin?: RuleOrigin | null;
  /** The client that decided, if one did. */
  name?: string | null;
  /** The message of whoever decided. */
  message?: string | null;
  /** Time from the question to the answer. */
  waitedMs?: number | null;
  /** The most of that in which there may have been no daemon. */
  downMs?: number;
  /** The calls that an answer allows from now on beside the one that was asked about, in plain words. */
  allows?: string | null;
  /** The rule that the answer saved: its id, and which calls it is about. */
  remembers?: string | null;
  /** The mode that the answer put the session into. */
  mode?: string | null;
}

/** What validation found out about a call. */
export interface CallDetails {
  /** Of the tool, for people. */
  title: string;
  /** Of this call, for people, e.g. the path it reads. */
  description: string;
  kind: ToolKind;
  risk: Risk;
  locations: CallLocation[];
  /** The rule that lets it run, or that has a person asked, e.g. `builtin:risk=safe`. */
  rule?: string | null;
  /** The word that it goes back to, where the rule stands in no file. */
  ruleOrigin?: RuleOrigin | null;
  /** The extension that brings its tool along. */
  extension?: ExtensionRef | null;
}

/** One tool call; always ours, the provider's own id is kept beside it. */
export type CallId = string;

/** A place a call touches. */
export interface CallLocation {
  path: string;
  line?: number | null;
}

/** A call's state. */
export type CallState = "validating" | "scheduled" | "awaitingApproval" | "executing" | "success" | "error" | "cancelled" | (string & {});

/** Data of `signal.caughtUp`: everything that was in the log when the subscription began has been sent. */
export interface CaughtUp {
  head: EventSeq;
  /** The subscription's `consumer` was not known before; from now on it is. */
  newConsumer?: boolean;
}

/** An agent's file that came, went or changed. */
export interface ChangedAgent {
  name: AgentName;
  scope: AgentScope;
  /** Missing for built-in agents. */
  path?: string | null;
  /** SHA-256 of the file's bytes, as `sha256:<hex>`. */
  digest: string;
  status: AgentStatus;
}

export type CheckOutcome = "pass" | "warn" | "fail" | (string & {});

/** How something stands that was looked at. */
export type CheckState =
  | "ok"
  /** It works, and may not be what was meant. */
  | "warning"
  /** Something does not work, or is not safe. */
  | "failed"
  | (string & {});

/** Somebody is reading a question, or has answered it with a change. */
export interface Claim {
  clientId?: ClientId | null;
  /** As the client calls itself. */
  name?: string | null;
  /** The time until which they will probably read, or hooks are asked. */
  until: Timestamp;
  /**
   * They have answered with a change, and hooks are asked about it: no other answer counts until these have
   * said what they think. Then the question is over, is asked again as hooks changed it, or is as open as
   * before.
   */
  answered?: boolean;
}

/** Data of `signal.claim`: who reads a question now, or has answered it with a change. */
export interface ClaimSignal {
  confirmationId: ConfirmationId;
  /** Missing = nobody any more. */
  claim?: Claim | null;
}

export interface ClientAttachment {
  subscription: SubscriptionId;
  /** `"*"` = every session. */
  sessionId: SessionId;
  role: AttachRole;
}

/** What a client can do for others. */
export interface ClientCapabilities {
  /** It can put questions to a person. Missing = it cannot. */
  confirmations?: ConfirmationCapability | null;
  /** It shows text while it is being written. */
  deltas?: boolean;
  /** It lends tools of its own. */
  tools?: boolean;
}

/** A piece of what a lent tool returns. */
export type ClientContent =
  | {
    type: "text";
    text: string;
  }
  /** Bytes in base64: an image, audio. */
  | {
    type: "inlineData";
    mimeType: string;
    data: string;
  };

/** A failure of a lent tool. */
export interface ClientError {
  message: string;
}

/** A client's own stable id, across its reconnects. */
export type ClientId = string;

/** Shown to other clients. */
export interface ClientInfo {
  name: string;
  version?: string;
  kind: ClientKind;
}

/**
 * What kind of program a client is: `editor`, `cli`, `phone`, `bot`, `bridge`, `script`, or another word,
 * which is kept and shown as it was said.
 */
export type ClientKind = string;

export interface ClientListParams {
  /** As `nextCursor` said. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface ClientListResult {
  /** The one that has been there longest first. */
  clients: ClientSummary[];
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/**
 * A connection whose client said `initialize` or is attached to something. A client with several connections
 * is there several times, with the same `clientId`.
 */
export interface ClientSummary {
  /** Counts from 1 since the daemon's start. */
  connection: number;
  /** Missing, like `client` and `presence`, when it said no `initialize`. */
  clientId?: ClientId | null;
  client?: ClientInfo | null;
  presence?: Presence | null | string;
  capabilities: ClientCapabilities;
  /** What it is attached to by `session/attach`. */
  attached: ClientAttachment[];
  transport: ConnectionTransport;
  /** The user it runs as. */
  uid: number;
  /** When it was first heard of. */
  connectedAt: Timestamp;
}

/** A tool that a client lends. */
export interface ClientToolParams {
  /**
   * Letters, digits, `_`, `-` and `.`, a letter or `_` first. Not a name or an alias of a tool of the
   * daemon's own, nor one that begins like those of other sources: `discovered_`, `mcp`, `handoff_to_`.
   */
  name: ToolName;
  /** For people. Missing = the name. */
  title?: string | null;
  /** For the model. */
  description: string;
  /** JSON Schema (2020-12) of the arguments. */
  parameters: unknown;
  /** Missing = `other`. */
  kind?: ToolKind | null;
  /** Missing = `medium`. Only what reads or searches may be less. */
  risk?: Risk | null;
  /** How long the client may take for a call. Missing = 10 minutes. */
  timeoutMs?: number | null;
}

/** A field that is missing stays as it is. */
export interface ClientUpdateParams {
  /** In place of those that were said before, as a whole; `null` = none any more. */
  capabilities?: ClientCapabilities | null;
  presence?: Presence | null;
}

export interface ClientUpdateResult {
  /** As they are now. */
  capabilities: ClientCapabilities;
  presence: Presence;
}

/**
 * How closely a command is confined, as far as a standing answer depends on it: whoever allows a command that
 * reaches nothing has not allowed one that reaches everything.
 */
export interface CommandConfinement {
  /** `full` also where the system has nothing to confine commands with. */
  profile: SandboxProfile;
  /** True if it reaches other machines. */
  network?: boolean;
  /** The sockets that it reaches, see the setting `sandbox.sockets`. */
  sockets?: string[];
}

/** How a run ends. */
export type CompletionMode =
  /** Only by `complete_task`. */
  | "tool"
  /** Also by a turn without tool calls, whose text is the result. */
  | "message"
  | (string & {});

/** Fields that only compressions have. */
export interface CompressionSpan {
  /** The same as in `context.compressed`; missing when it did not come to that. */
  status?: string | null;
  tokensBefore?: number;
  tokensAfter?: number;
  messagesBefore?: number;
  messagesAfter?: number;
}

/** What a compression came to. */
export type CompressionStatus =
  | "COMPRESSED"
  /** There was nothing that could be left out; or a hook kept it from that, and `message` says so. */
  | "NOOP"
  /**
   * It would have been longer than before. Nothing is compressed by itself in this context until somebody
   * asks for it.
   */
  | "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
  /** The summariser gave no summary. */
  | "COMPRESSION_FAILED_EMPTY_SUMMARY"
  | (string & {});

export interface ConfigChanged {
  /** Their keys; `config/get` has the values. */
  changed: string[];
  /** Of these, what counts only when the daemon starts the next time. */
  needsRestart: string[];
}

export interface ConfigGetParams {
  /** Keys, e.g. `run.maxTurns`, or sections of keys, e.g. `run`. Missing = all there are. */
  keys?: string[] | null;
}

export interface ConfigGetResult {
  /** Also those that nobody set. */
  settings: SettingValue[];
}

/**
 * A question to a person. It says everything that is needed to answer it, so that a phone can show it without
 * asking back.
 */
export interface Confirmation {
  confirmationId: ConfirmationId;
  runId: RunId;
  sessionId: SessionId;
  /** From the root run's agent to the one that asks. */
  path: AgentName[];
  /** Missing when it is about the run itself, not about a call of its. */
  toolCallId?: CallId | null;
  /** Missing with the call. */
  tool?: ToolName | null;
  /** Missing with the call. */
  kind?: ToolKind | null | string;
  risk: Risk;
  /** Places of `details` that are not shown since they look like secrets. */
  hiddenPlaces?: number;
  /** What it is about, in one line. */
  title: string;
  /** Which rule asks, e.g. `builtin:risk=low`. */
  rule: string;
  /** The reason why it asks, for people. */
  reason: string;
  details: ConfirmationDetails | Record<string, unknown>;
  /**
   * SHA-256 of what an answer is about: tool, arguments, accesses and details, as `sha256:<hex>`. An answer
   * carries it; one to an older subject is `CONFIRMATION_STALE`.
   */
  digest: string;
  /** What may be answered; anything else is `OUTCOME_NOT_OFFERED`. */
  options: ConfirmationOption[];
  audience: Audience | string | Record<string, unknown>;
  /** Who started the root run, when it was a client that introduced itself. */
  initiator?: ClientId | null;
  /** Whoever started the run said that nobody sits there. */
  headless?: boolean;
  /** What becomes of the question while nobody can be asked. */
  onDetached: OnDetached;
  createdAt: Timestamp;
  /**
   * When [`Confirmation::on_deadline`] happens, unless somebody is there who could answer. Moves by the time
   * that somebody was.
   */
  deadlineAt?: Timestamp | null;
  onDeadline: OnDeadline;
  /**
   * The person who has changed the call, while hooks are asked about the change and no other answer counts.
   * Not in events.
   */
  editedBy?: string | null;
}

export interface ConfirmationCapability {
  /** The kinds of questions it can show; missing = all. Open: kinds that are not known here are kept. */
  kinds?: string[] | null;
}

export interface ConfirmationClaimParams {
  confirmationId: ConfirmationId;
  /** How long somebody will probably read. Missing = a minute. Ends earlier with the connection. */
  durationMs?: number | null;
}

export interface ConfirmationClaimResult {
  confirmationId: ConfirmationId;
  claim: Claim;
}

/** What is to be decided, by type. */
export type ConfirmationDetails =
  /** A file is written, changed or removed. */
  | {
    type: "edit";
    /** Absolute. */
    path: string;
    /** Unified, from what is there to what would be. Empty when nothing can be shown line by line. */
    diff: string;
    /**
     * What is there; missing when there is nothing, when it is long, or when it holds a secret (the diff has
     * what changes).
     */
    oldContent?: string | null;
    /** What would be; missing when the file would be removed, when it is long, or when it holds a secret. */
    newContent?: string | null;
    /** So many bytes of the diff are not shown, because it is too long. The digest covers all of it. */
    cutBytes?: number;
  }
  /** A command is run. */
  | {
    type: "exec";
    /** As bash gets it. */
    command: string;
    /** Absolute. */
    directory: string;
    /** The programs that it names, each once. */
    rootCommands: string[];
    /** Each command in it, in words; some in several spellings. */
    parsed: string[];
    /** The reason why it is dangerous, or why it cannot be told what would run. */
    reasons?: string[];
    /** What it would be confined by, or that and why it would not be. */
    sandbox: string;
    /** It goes on after the call, until it ends or the session does. */
    background?: boolean;
    /** It gets a terminal of its own. */
    pty?: boolean;
    /** The call wants another time limit than the usual one. */
    timeoutSeconds?: number | null;
  }
  /** A tool of a server of the Model Context Protocol is called. */
  | {
    type: "mcp";
    server: string;
    /** As the server knows it. */
    tool: string;
    /** All of them. */
    arguments: unknown;
  }
  /** Pages are fetched, or a backend is asked. */
  | {
    type: "fetch";
    /** As they will be asked for. */
    urls: string[];
    /** What is to be read in them, where the call says so. */
    prompt?: string | null;
  }
  /** Anything else, in words, with all arguments of the call. */
  | {
    type: "info";
    prompt: string;
  }
  /** The agent asks something of a person, or a server does that is at a call. */
  | {
    type: "question";
    questions: UserQuestion[];
  }
  /**
   * The run has used up what it may use, and asks for more. `allowOnce` doubles each limit that is told,
   * until it is beyond what is used.
   */
  | {
    type: "budget";
    /** Those that are used up. */
    limit: BudgetLimits;
    used: BudgetUsed;
    /** The most that can be given: what the run that called this one had left. */
    maximum?: BudgetLimits;
  };

/**
 * Data of `confirmation.edited`: a person has changed the call that is asked about, and hooks are asked about
 * the change before anything comes of it. `by` names the person, and until the question is over or asked
 * again no other answer counts.
 */
export interface ConfirmationEdited {
  confirmationId: ConfirmationId;
  toolCallId: CallId;
  /** The digest of the question that was answered. */
  digest: string;
  /** The arguments as the person made them, without secrets. */
  edited: unknown;
  /**
   * Secrets of the arguments are not in `edited`: a daemon that did not take the answer itself cannot run the
   * call so.
   */
  redacted?: boolean;
  /** The person: the client's id, or the way by which the answer came. */
  name?: string | null;
  /** The words that came with it. */
  message?: string | null;
  /**
   * The digest of what came with the answer, as in `confirmation.resolved`: the same answer once more is
   * known by it.
   */
  answerDigest?: string | null;
}

/** One of the two is given. */
export interface ConfirmationGetParams {
  confirmationId?: ConfirmationId | null;
  /** As a notification told it. */
  token?: string | null;
}

export interface ConfirmationGetResult {
  confirmation: ConfirmationRecord;
}

/** One question to a person. */
export type ConfirmationId = string;

export interface ConfirmationListParams {
  sessionId?: SessionId | null;
  runId?: RunId | null;
  /** Also those that are over. */
  resolved?: boolean;
  /** As `nextCursor` said. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface ConfirmationListResult {
  /** Oldest first. */
  confirmations: ConfirmationRecord[];
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/** One way to answer. */
export interface ConfirmationOption {
  outcome: ConfirmationOutcome;
  /**
   * Which later calls the answer also allows; missing when it allows none. Several options may have the same
   * outcome and differ by it.
   */
  grant?: GrantScope | null | string;
  /** For a button. */
  label: string;
  /**
   * One line in plain words: what will be allowed from then on, where, and for how long. Missing when nothing
   * will.
   */
  allows?: string | null;
  /** The rule that this outcome would write, shown before it is. */
  remembers?: PolicyRule | null;
}

/** What a person decides. None but those that begin with `allow`, `modify` and `answer` is consent. */
export type ConfirmationOutcome =
  /** This call, this time; of a budget: twice as much. */
  | "allowOnce"
  /** Also calls like it in this session. */
  | "allowSession"
  /** Also calls like it in this workspace. */
  | "allowProject"
  /** Also calls like it of this user. */
  | "allowUser"
  /** With other arguments, another content of the file, or other limits. */
  | "modify"
  /** What was asked. */
  | "answer"
  /** Not this call; the run goes on. Of a budget: no more, and the run ends. */
  | "deny"
  /** Not this call, and the run ends. */
  | "cancelRun"
  | (string & {});

/** A question, where it stands, and what came of it. */
export interface ConfirmationRecord {
  confirmationId: ConfirmationId;
  runId: RunId;
  sessionId: SessionId;
  /** From the root run's agent to the one that asks. */
  path: AgentName[];
  /** Missing when it is about the run itself, not about a call of its. */
  toolCallId?: CallId | null;
  /** Missing with the call. */
  tool?: ToolName | null;
  /** Missing with the call. */
  kind?: ToolKind | null | string;
  risk: Risk;
  /** Places of `details` that are not shown since they look like secrets. */
  hiddenPlaces?: number;
  /** What it is about, in one line. */
  title: string;
  /** Which rule asks, e.g. `builtin:risk=low`. */
  rule: string;
  /** The reason why it asks, for people. */
  reason: string;
  details: ConfirmationDetails | Record<string, unknown>;
  /**
   * SHA-256 of what an answer is about: tool, arguments, accesses and details, as `sha256:<hex>`. An answer
   * carries it; one to an older subject is `CONFIRMATION_STALE`.
   */
  digest: string;
  /** What may be answered; anything else is `OUTCOME_NOT_OFFERED`. */
  options: ConfirmationOption[];
  audience: Audience | string | Record<string, unknown>;
  /** Who started the root run, when it was a client that introduced itself. */
  initiator?: ClientId | null;
  /** Whoever started the run said that nobody sits there. */
  headless?: boolean;
  /** What becomes of the question while nobody can be asked. */
  onDetached: OnDetached;
  createdAt: Timestamp;
  /**
   * When [`Confirmation::on_deadline`] happens, unless somebody is there who could answer. Moves by the time
   * that somebody was.
   */
  deadlineAt?: Timestamp | null;
  onDeadline: OnDeadline;
  /**
   * The person who has changed the call, while hooks are asked about the change and no other answer counts.
   * Not in events.
   */
  editedBy?: string | null;
  /** The folders of its session. In a snapshot the session itself has them. */
  roots?: string[];
  state: ConfirmationState;
  /** True if the client that asks should put up a dialog for it. */
  offered?: boolean;
  /**
   * Who is reading it, a courtesy: anybody may answer. Or who has answered it with a change that hooks are
   * asked about (`answered`).
   */
  claim?: Claim | null;
  resolution?: Resolution | null;
}

export interface ConfirmationReleaseParams {
  confirmationId: ConfirmationId;
}

export interface ConfirmationReleaseResult {
  confirmationId: ConfirmationId;
  /** False when this client had claimed nothing. */
  released: boolean;
}

/** Data of `confirmation.requested`: a call waits for a person, before it runs or while it does. */
export interface ConfirmationRequested {
  confirmation: Confirmation;
}

/** Data of `confirmation.resolved`: the question is over. Exactly one each. */
export interface ConfirmationResolved {
  confirmationId: ConfirmationId;
  toolCallId?: CallId | null;
  outcome: ConfirmationOutcome;
  by: DecidedBy;
  /** Who, when it was a client: its id, or the way by which the answer came. */
  name?: string | null;
  /** What whoever decided said. */
  message?: string | null;
  /** The rule that was written, or that decided. */
  rule?: PolicyRule | null;
  /** With an answer that holds for longer than its call: what it allows from now on, in plain words. */
  allows?: string | null;
  /** The session's mode from now on: with the grant `edits`. */
  mode?: ApprovalMode | null | string;
  /** The digest of the question that this ended. */
  digest: string;
  /**
   * SHA-256 of what came with the outcome (arguments, content, answers, message), as `sha256:<hex>`: the same
   * answer once more is known by it, and another one is not taken for it. Missing for answers to a tool's
   * question, which are no business of the log's: they could be guessed by it.
   */
  answerDigest?: string | null;
  /** In the event: when that happened. */
  at?: Timestamp | null;
  /**
   * The change of the person, with `modify`, as the model is told it; also where a hook refused the changed
   * call, or changed it again before it was allowed or denied.
   */
  difference?: string | null;
  /**
   * The arguments as the person had made them, where a hook refused the changed call. Missing in events of
   * earlier versions.
   */
  edited?: unknown;
}

export interface ConfirmationRespondParams {
  /** Needed without a `token`. */
  confirmationId?: ConfirmationId | null;
  /** Of the question that was read. Needed without a `token`, which is bound to one. */
  digest?: string | null;
  outcome: ConfirmationOutcome;
  /** Which of the options of this outcome; without it the first, which is the narrowest. */
  grant?: GrantScope | null;
  /** For the model and the log, e.g. why not. */
  message?: string | null;
  /** With `modify`: the whole arguments. */
  arguments?: unknown;
  /** With `modify`, instead of arguments: what the file of an edit shall be, or the command of an exec. */
  content?: string | null;
  /**
   * With `modify` of a budget: what the run may use from now on; more than it has used. What is missing
   * stays.
   */
  limits?: BudgetLimits | null;
  /** With `answer`: one a question, in order. */
  answers?: QuestionAnswer[];
  /** As a notification told it. */
  token?: string | null;
}

export interface ConfirmationRespondResult {
  confirmationId: ConfirmationId;
  runId: RunId;
  resolution: Resolution;
  /** The event that says how it ended. */
  seq: EventSeq;
  /** This client had said the same before, and this is what came of it. */
  replayed?: boolean;
}

/** Data of `confirmation.revised`: the question is this now. */
export interface ConfirmationRevised {
  confirmation: Confirmation;
  reason: RevisionReason;
  /**
   * The change as the model is told it, with `changedByHook` and `askedByHook`: who changed the call, and
   * what is now other than it was.
   */
  difference?: string | null;
  /**
   * The arguments as the person had made them, with `changedByHook`, `askedByHook` and `editDropped`. Missing
   * in events of earlier versions.
   */
  edited?: unknown;
  /**
   * The arguments that the question is about now, with `changedByHook` and `askedByHook`. Missing in events
   * of earlier versions.
   */
  arguments?: unknown;
}

/**
 * Fields that only questions have. A question that is asked again has one more span, under the same
 * `confirmationId`: a hook changed what a person had made of the call, or what the call would touch had
 * changed when an answer came.
 */
export interface ConfirmationSpan {
  confirmationId: ConfirmationId;
  /** Missing when it is about the run itself. */
  callId?: CallId | null;
  /** `edit`, `exec`, `mcp`, `fetch`, `info`, `question`, `budget`. */
  asks: string;
  /** The rule that asked. */
  rule: string;
  /** The reason why it asked. */
  reason: string;
  risk: string;
  /** The number of this version of the question, from 2 on. */
  version?: number | null;
  /**
   * The arguments as the person made them who answered this version with a change that hooks have not
   * answered yet, changed again or refused, as JSON. Missing in logs of earlier versions.
   */
  editedInput?: SpanText | null;
  /**
   * The most of its time in which there may have been no daemon, as in the run's `downMs`: nobody could
   * answer it then.
   */
  downMs?: number;
  /** The number of times that a daemon was started again while it was open. */
  restarts?: number;
  /**
   * The number of times that a daemon was started again while hooks were asked about what a person had made
   * of the call.
   */
  editedRestarts?: number;
  /** The number of times that the question changed so far. */
  revisions?: number;
  /**
   * Missing while it is open and nobody has answered. With `edited` it is open, was asked again, or was over
   * before hooks had answered; with `editDropped` and `stale` it was asked again.
   */
  decision?: CallDecision | null;
}

/** Where a question stands. */
export type ConfirmationState =
  | "resolved"
  /** Nobody is there who could be asked. */
  | "queued"
  /** Somebody is. */
  | "offered"
  /** Somebody reads it. */
  | "claimed"
  | (string & {});

/** How a connection's messages are framed. */
export type ConnectionTransport =
  | "webSocket" | "http"
  /** One JSON value a line. */
  | "lines"
  /** With `Content-Length` headers, as language servers do. */
  | "contentLength"
  | (string & {});

/**
 * What became of a context, between its messages: from here on its model reads something else. The messages
 * before it stay in the history.
 */
export interface ContextChange {
  /** The event that tells it; it stands after the messages of lower ones. */
  seq: EventSeq;
  at: Timestamp;
  runId: RunId;
  kind: ContextChangeKind;
  /** Of the context from here on. */
  epoch: number;
  /** Of a compression: what it came to; unless it is `COMPRESSED`, nothing changed. */
  status?: CompressionStatus | null | string;
  /**
   * Of a compression: tokens of a request before and after, instructions and tools included; a provider's
   * count or an estimate.
   */
  tokensBefore?: number | null;
  tokensAfter?: number | null;
  /** Why, when it came to nothing. */
  message?: string | null;
}

/** What a context's model reads from here on. */
export type ContextChangeKind =
  /** A summary in place of the older part, when it came to that. */
  | "compressed"
  /** Nothing of what was. */
  | "cleared"
  | (string & {});

/** A context that begins anew. */
export interface ContextClear {
  agent: AgentName;
  contextId: ContextId;
  /** The run that did it. */
  runId: RunId;
  /** Of the context from here on. */
  epoch: number;
}

export interface ContextCleared {
  /** Of the context from here on. */
  epoch: number;
}

/** What became of a context that was to be compressed. */
export interface ContextCompacted {
  agent: AgentName;
  contextId: ContextId;
  /** The run that did it. */
  runId: RunId;
  /** Of the context from here on. */
  epoch: number;
  /** Missing when the run ended before it came to that, e.g. because it was cancelled. */
  status?: CompressionStatus | null | string;
  /** Of a prompt, instructions and tools included; a provider's count or an estimate. */
  tokensBefore: number;
  tokensAfter: number;
  /** Why, when it came to nothing. */
  message?: string | null;
}

export interface ContextCompressed {
  status: CompressionStatus;
  /** Of the context from here on; it rises with each compression that counts. */
  epoch: number;
  /** As in `sideCall.started`. */
  forced?: boolean;
  /**
   * Tokens of a request before and after, instructions and tools included; estimated unless they were
   * `counted`.
   */
  tokensBefore: number;
  tokensAfter: number;
  /** Both are the provider's own count. */
  counted?: boolean;
  /** Messages that a model reads, before and after. All of them stay in the history. */
  messagesBefore: number;
  messagesAfter: number;
  /** Tool outputs of which only the ends were kept. */
  outputsCut?: number;
  /** Why, when it came to nothing. */
  message?: string | null;
}

/** One agent's message history in one session. */
export type ContextId = string;

/** What a context came about by. */
export interface ContextMetadata {
  /** Runs that have worked in it, or wait to. */
  runs: number;
  /** The newest of them. */
  lastRunId: RunId;
  /** The model of that run. */
  model: string;
  /** SHA-256 of the definition that it carries, as `sha256:<hex>`. */
  digest: string;
}

export interface ContextNudged {
  text: string;
  reason?: NudgeReason;
}

/** An amount of money: dollars as a decimal number in a string, to nine places. */
export interface Cost {
  amount: string;
  currency: "USD";
}

/** Which of the capabilities of clients this daemon makes use of. */
export interface DaemonCapabilities {
  /** It puts questions to clients. */
  confirmations?: boolean;
  /** It sends text while it is being written. */
  deltas?: boolean;
  /** Agents can use tools that clients lend. */
  tools?: boolean;
  /** It tells clients of each other. */
  presence?: boolean;
}

/**
 * Figures of a daemon since it started; `GET /metrics` has the same by model, tool and outcome, for
 * Prometheus.
 */
export interface DaemonCounts {
  /** Runs that ended, by reason. */
  runsEnded?: Record<string, number>;
  /** Runs that wait for a slot now. */
  slotQueue?: number;
  /** Requests to models. */
  modelRequests?: TimedCount;
  /** Tool calls that ended; their time is that of running. */
  toolCalls?: TimedCount;
  /** Answers of people to questions. */
  answers?: TimedCount;
  /** Transactions of the database. */
  commits?: TimedCount;
  usage?: Usage;
  /** Cost of the tokens whose price is known. */
  cost?: Cost;
  /** Events that the slowest subscription has not been sent. */
  maxLag?: number;
}

export interface DaemonInfo {
  name: string;
  version: string;
  pid: number;
  /** New at every start. */
  instance: string;
  /** Made with the database; cursors of another log mean nothing here. */
  logId: string;
  startedAt: Timestamp;
}

/** Whether a daemon takes work. */
export type DaemonState =
  | "running"
  /** It takes no new runs (`daemon/drain`). */
  | "draining"
  /** It ends. */
  | "stopping"
  | (string & {});

export interface DaemonStatusResult {
  daemon: DaemonInfo;
  state?: DaemonState;
  uptimeMs: number;
  /** By state; `ended` counts the whole log's. */
  runs: RunCounts;
  /** Questions that wait for a person; `confirmation/list` has them. */
  openConfirmations?: number;
  clients: number;
  subscriptions: number;
  database: DatabaseStatus;
  /** Resident memory; missing where the system does not say. */
  rssBytes?: number | null;
  /** What confines the commands of agents that say nothing of it themselves; missing until it was tried. */
  sandbox?: SandboxStatus | null;
  /** Figures since it started. */
  counts?: DaemonCounts;
  /** MCP servers that are up or in trouble, by name; at most so many as anybody reads. */
  mcpServers?: McpServerHealth[];
  /** What does not work as it should, one sentence each. */
  degraded: string[];
}

export interface DaemonWarning {
  /** What is wrong, where, and what to do. */
  message: string;
}

export interface DatabaseStatus {
  path: string;
  bytes: number;
  head: EventSeq;
  /**
   * The disk is full: runs are parked, and what would write is refused. It goes on by itself when there is
   * room.
   */
  storageFull?: boolean;
}

/** Who decided. */
export type DecidedBy =
  /** A person, at a client or by a token. */
  | "client"
  /** A rule that holds by now. */
  | "policy"
  /** Time ran out. */
  | "deadline"
  /** Nobody could be asked, or the run ended. */
  | "system"
  /** A hook. */
  | "hook"
  | (string & {});

/** What becomes of a deleted agent's contexts. */
export type DeletedAgentContexts =
  /** They stay, and can be read. */
  | "keep"
  /** They are emptied in sessions in which the agent has no run. */
  | "delete";

export interface DetachResult {
  /** False when there was no such subscription on this connection. */
  detached: boolean;
}

export interface DoctorCheck {
  /** What was looked at, e.g. `database`; later versions look at more. */
  name: string;
  state: CheckState;
  /** What was found. */
  message: string;
  /** What to do about it. */
  hint?: string | null;
}

export interface DoctorParams {
  /**
   * A folder whose hooks are looked at, whether anybody has acknowledged them or not. Those that people
   * acknowledged always are.
   */
  workspace?: WorkspaceParam | null;
}

/** What was found by looking. */
export interface DoctorResult {
  /** In the order in which it matters. */
  checks: DoctorCheck[];
  /** No check failed; there may be warnings. */
  ok: boolean;
}

/** What becomes of the runs when a daemon is drained. */
export type DrainMode =
  /** They go on to their end. */
  | "finish"
  /** Each stops when its turn ends, and goes on at the next start. */
  | "park"
  /** They are cancelled. */
  | "cancel";

export interface DrainParams {
  mode: DrainMode;
  /** How long to wait for the runs; what is left then is told. At most 600,000. */
  deadlineMs: number;
}

export interface DrainResult {
  /** No run is at work any more. */
  drained: boolean;
  /** Runs that are still at work. */
  liveRuns: number;
  /** Runs that will go on at the next start. */
  suspendedRuns: number;
}

/** A change of a call's arguments that a hook wanted, and that did not count. */
export interface DroppedChange {
  /** The arguments that it wanted, as JSON; of long ones the first 1 KiB. */
  input: string;
  /** The reason why it did not count, a clause without its end: `the call was denied`. */
  reason: string;
}

/** An event as subscribers receive it and `events/list` answers it. */
export interface Envelope {
  /** Its place in the log. Missing on what is no fact: `signal.*` and deltas. */
  seq?: EventSeq | null;
  /** The `seq` sent before it on this subscription; unequal to your last one means you missed something. */
  prev?: EventSeq | null;
  at?: Timestamp | null;
  type: string;
  sessionId?: SessionId | null;
  runId?: RunId | null;
  parentRunId?: RunId | null;
  agent?: AgentName | null;
  /** From the root run's agent to this one. */
  agentPath?: AgentName[];
  turn?: number | null;
  /** `<runId>#<turn>`: the same in events, traces and logs. */
  promptId?: string | null;
  activity?: SubagentActivity | null | string;
  /** Who caused it, when it was a client. */
  by?: string | null;
  /**
   * Of `confirmation.requested` and `confirmation.revised`, on a subscription: whether this client should put
   * up a dialog for it.
   */
  offered?: boolean | null;
  data: unknown;
}

/** The part of an error that programs read. */
export interface ErrorData {
  kind: ErrorKind;
  /** True if the same request can succeed later. */
  retryable: boolean;
  retryAfterMs?: number | null;
  details?: unknown;
  /** One line: what to do. */
  hint?: string | null;
}

/** The stable name of an error; programs look at this, never at the message. */
export type ErrorKind =
  /** The message is no JSON. */
  | "PARSE_ERROR"
  /** The message is JSON, but no JSON-RPC request. */
  | "INVALID_REQUEST"
  /** There is no such method; `didYouMean` in `details` names the nearest. */
  | "METHOD_NOT_FOUND"
  /** The parameters break the method's schema; `details` lists every violation with its JSON pointer. */
  | "INVALID_PARAMS"
  /** A defect of the daemon; `details` has the id under which its log tells more. */
  | "INTERNAL_ERROR"
  /** Cancelled by `$/cancelRequest`: it is not answered. Only a run that `tools/call` had begun goes on. */
  | "REQUEST_CANCELLED"
  /** The connection must say `initialize` first. */
  | "NOT_INITIALIZED"
  /** A token is missing or wrong. */
  | "UNAUTHORIZED"
  /** This peer may not talk to the daemon, or may not do this. */
  | "FORBIDDEN"
  /** The protocol version is not spoken here; `details` lists those that are. */
  | "UNSUPPORTED_VERSION"
  /** Too much at once; try again later. */
  | "OVERLOADED"
  /** The daemon is stopping. */
  | "SHUTTING_DOWN"
  /** The message, or its answer, is larger than allowed. */
  | "PAYLOAD_TOO_LARGE"
  /** Requests come too fast. */
  | "RATE_LIMITED"
  /** A limit of this connection is reached, e.g. its subscriptions. */
  | "LIMIT_EXCEEDED"
  /** Nothing has this id or name. */
  | "NOT_FOUND"
  /** It existed and was removed. */
  | "GONE"
  /** Something of this name exists. */
  | "ALREADY_EXISTS"
  /** It was changed meanwhile. */
  | "CONFLICT"
  /** The idempotency key was used with other parameters. */
  | "IDEMPOTENCY_CONFLICT"
  /** The cursor lies outside of the log; `details` has `oldest`, `head` and `logId`. */
  | "CURSOR_GONE"
  /** A file was changed meanwhile. */
  | "FILE_CONFLICT"
  /** The disk is full; nothing was written. */
  | "STORAGE_FULL"
  /** The database failed; nothing was written. */
  | "STORAGE_ERROR"
  /** The agent comes from a workspace that nobody has trusted; `details` has the digest. */
  | "WORKSPACE_NOT_TRUSTED"
  /** The agent cannot be started as it is. */
  | "AGENT_NOT_READY"
  /** The definition has errors; `details` lists them. */
  | "INVALID_DEFINITION"
  /** The inputs break the agent's input schema; `details` lists every violation. */
  | "INVALID_INPUT"
  /** A template names a value that nobody gave; `details` has the missing and the known names. */
  | "MISSING_TEMPLATE_INPUT"
  /** The session is closed. */
  | "SESSION_CLOSED"
  /** The run has ended. */
  | "RUN_NOT_ACTIVE"
  /** This agent's context has a live run already. */
  | "BUSY"
  /** No model is configured; `hint` names the ways out. */
  | "NO_MODEL"
  /** The provider refuses the key. */
  | "PROVIDER_AUTH"
  /** The provider's quota is used up. */
  | "PROVIDER_LIMIT"
  /** The provider failed. */
  | "PROVIDER_ERROR"
  /** Somebody has answered already. */
  | "CONFIRMATION_ALREADY_RESOLVED"
  /** The question changed meanwhile. */
  | "CONFIRMATION_STALE"
  /** The outcome was not among the options. */
  | "OUTCOME_NOT_OFFERED"
  | (string & {});

/** Which events; an empty filter matches all. Each field that is given narrows. */
export interface EventFilter {
  /** The same as one entry of `sessionIds`. */
  sessionId?: SessionId | null;
  /** Of these sessions; at most 64, empty = of all. */
  sessionIds?: SessionId[];
  /** Of this run alone, without those below it. Not together with `runIds`. */
  runId?: RunId | null;
  /** Of these runs and of those below them, whenever they begin; at most 64, empty = of all. */
  runIds?: RunId[];
  /** Of the runs in `runIds` themselves only. */
  exact?: boolean;
  /**
   * Types of events, e.g. `tool.state`; a `*` at the end stands for any rest, e.g. `run.*`. At most 64, empty
   * = all.
   */
  types?: string[];
}

/** Parameters of the notification `event`. */
export interface EventNotification {
  /** Missing for signals that concern the connection, not a subscription. */
  subscription?: SubscriptionId | null;
  result: Envelope;
}

/** A position in the log: strictly increasing, never reused; 0 stands before the first event. */
export type EventSeq = number;

export interface EventsAckParams {
  /** Of this connection, opened with a `consumer`. */
  subscription: SubscriptionId;
  /**
   * Everything up to here is dealt with: a `seq` that came on this subscription, or the `head` of its
   * `signal.caughtUp`.
   */
  seq: EventSeq;
}

export interface EventsAckResult {
  /**
   * Where the consumer stands now. It never goes back: behind an older acknowledgement this is further than
   * `seq`.
   */
  seq: EventSeq;
}

export interface EventsListParams {
  filter?: EventFilter;
  /** Exclusive; 0 = from the beginning. */
  from?: EventSeq;
  /**
   * The log that `from` came from, as an earlier answer or `daemon.logId` said. Of another log it is
   * `CURSOR_GONE`.
   */
  logId?: string | null;
  limit?: number;
  /** When nothing matches yet: waits this long for the first. At most 60,000. */
  waitMs?: number;
}

export interface EventsListResult {
  /**
   * A page of large events is shorter than `limit`. The next page begins after the last of these; an empty
   * one says that nothing up to `head` matches any more.
   */
  events: Envelope[];
  /** The newest `seq` of the whole log. */
  head: EventSeq;
  /** Which log it is; give it beside the next `from`. */
  logId?: string;
}

/**
 * Each of `sessionIds`, `runIds` and `types` that is given narrows; without any, the whole log is followed.
 */
export interface EventsSubscribeParams {
  /**
   * Of these sessions; at most 64, empty = of all. What is left of a deleted one is its `session.deleted`.
   */
  sessionIds?: SessionId[];
  /** Of these runs and of those below them, also those that begin later; at most 64, empty = of all. */
  runIds?: RunId[];
  /** Of the runs in `runIds` themselves only. */
  exact?: boolean;
  /**
   * Types of events, and with `deltas` of deltas, e.g. `tool.state`; a `*` at the end stands for any rest,
   * e.g. `run.*`. At most 64, empty = all. Of a session that was deleted or pruned while nobody read,
   * `session.deleted` is all that comes, and no cursor is gone for it: name that type, too, to learn that
   * something was missed. Its `lastSeq` says how far the events went that are missing.
   */
  types?: string[];
  /** A `seq` (exclusive), `"now"`, `"start"`, or `"consumer"`: after what `consumer` has acknowledged. */
  from: AttachFrom;
  /** With a `seq`: the log it came from, as `daemon.logId` said. Of another log it is `CURSOR_GONE`. */
  logId?: string | null;
  /**
   * The daemon remembers under this name what `events/ack` acknowledges, across reconnects and restarts. The
   * name is the whole of it: who uses the same one goes on from the same place, and the furthest
   * acknowledgement counts. A new name is remembered where the subscription begins, with `from: "consumer"`
   * at the start of the log. At most 1,000 names; one that nobody used for 30 days makes room for a new one
   * when there are more.
   */
  consumer?: string | null;
  /** What comes of a cursor that is gone. Missing = `error`. */
  onGone?: GoneCursorPolicy;
  /**
   * Text while it is being written. Of a text that is open when the subscription begins it comes from its
   * beginning.
   */
  deltas?: boolean;
}

export interface EventsUnsubscribeParams {
  subscription: SubscriptionId;
}

/** An agent in another product's words. */
export interface ExportedAgent {
  name: AgentName;
  /** What the file is usually called there. */
  fileName: string;
  text: string;
  /** What the product cannot express, in words. */
  lost?: string[];
}

/** The things that a person does with an extension. */
export type ExtensionChange =
  | "installed" | "enabled" | "disabled" | "removed"
  /** Another version took its place. */
  | "updated"
  | (string & {});

/** Data of `extension.changed`. */
export interface ExtensionChanged {
  extension: ExtensionRef;
  change: ExtensionChange;
  /** The extension as it is from now on; missing where it was removed. */
  installed?: InstalledExtension | null;
}

/**
 * The things that an extension brings along. A person agrees to them, so a list is there when it is empty,
 * too.
 */
export interface ExtensionContents {
  skills: BundledSkill[];
  servers: BundledMcpServer[];
  author?: string | null;
  homepage?: string | null;
  license?: string | null;
}

export interface ExtensionGetResult {
  extension: ExtensionSummary;
  /** Nothing, of one that changed. */
  contents: ExtensionContents;
  /** Its folder. */
  folder: string;
  /** The folder for what its programs write; made when one is started. */
  dataFolder: string;
}

/** One extension, from its installation to its removal. */
export type ExtensionId = string;

/** The outcome of an installation. */
export type ExtensionInstallOutcome =
  | "installed"
  /**
   * It took the place of another one of its name. What its programs wrote stays, and it is as enabled as that
   * was.
   */
  | "updated"
  /** Just this is installed already. */
  | "unchanged"
  | (string & {});

export interface ExtensionInstallParams {
  /**
   * A folder on the daemon's machine, absolute; or the URL of a repository (`https://….git`, `git+https://…`,
   * `ssh://…`, `git@HOST:PATH`, `file:///…`), with `#` and a branch, tag or commit behind it.
   */
  source: string;
  /**
   * The digest of what a person agreed to, as an answer to `dryRun` told it. Needed unless `dryRun`; anything
   * else is refused.
   */
  digest?: string | null;
  /** Copies and reads it and answers what would be installed; nothing of it is left. */
  dryRun?: boolean;
}

export interface ExtensionInstallResult {
  outcome: ExtensionInstallOutcome;
  /** The extension as it is installed, or would be. */
  extension: InstalledExtension;
  /** The one that was installed before. */
  before?: InstalledExtension | null;
  contents: ExtensionContents;
  /** The number of its files. */
  fileCount: number;
  /** The event that tells of it; missing where nothing changed. */
  seq?: EventSeq | null;
}

export interface ExtensionListResult {
  /** Sorted by name. */
  extensions: ExtensionSummary[];
}

export interface ExtensionNameParams {
  name: string;
}

/** The extension that brings something along. */
export interface ExtensionRef {
  id: ExtensionId;
  name: string;
}

export interface ExtensionRemoveResult {
  name: string;
  seq: EventSeq;
}

/** An extension's state: does what it brings along count? */
export type ExtensionStateName =
  | "enabled"
  /** A person switched it off. */
  | "disabled"
  /** Its files are not what was installed, so it is off. Installing it again puts that right. */
  | "changed"
  | (string & {});

/** An extension that is installed, and whether it counts. */
export interface ExtensionSummary {
  /** Made when it was installed first; the same when another version takes its place. */
  id: ExtensionId;
  /** The name of its folder, too. */
  name: string;
  version?: string | null;
  description?: string | null;
  /** The folder or the repository's URL that it came from. */
  source: string;
  /** The commit, of one that came from a repository. */
  commit?: string | null;
  /** Over path, mode and bytes of all its files: `sha256:<hex>`. One that is another one is off. */
  digest: string;
  /** False = a person switched it off. */
  enabled: boolean;
  installedAt: Timestamp;
  /** Everything that was left out, ignored or skipped when it was installed, a sentence each. */
  notes?: string[];
  state: ExtensionStateName;
  /** The reason why it is off, of one that changed: the end of a sentence that begins with it. */
  fault?: string | null;
  /** The number of its skills and of its MCP servers. */
  skillCount: number;
  serverCount: number;
}

export interface ExtensionSwitchResult {
  extension: ExtensionSummary;
  /** The event that tells of it; missing where nothing changed. */
  seq?: EventSeq | null;
}

/** What became of a file. */
export type FileChange = "created" | "modified" | "deleted" | "moved" | (string & {});

/** Data of `file.changed`: a call changed a file, and this can be undone. */
export interface FileChanged {
  callId: CallId;
  /** Absolute. */
  path: string;
  change: FileChange;
  /** With `moved`: where it was. */
  from?: string | null;
  /** Names what `session/undo` puts back. */
  undoId: string;
  /** SHA-256 of what was there, as `sha256:<hex>`; missing when nothing was. */
  before?: string | null;
  /** Of what is there now; missing when it was removed. */
  after?: string | null;
}

/** Something wrong in a file a user wrote. */
export interface FileProblem {
  /**
   * The file, with U+FFFD for what is not UTF-8 in its name. Of a setting that is given elsewhere: the
   * variable of the environment, or the flag.
   */
  path: string;
  /** 1-based; missing when the whole file is meant. */
  line?: number | null;
  /** 1-based, in characters. */
  column?: number | null;
  severity: ProblemSeverity;
  code: FileProblemCode;
  /** What is wrong, and what was expected. */
  message: string;
  /** What to write instead. */
  fix?: string | null;
}

/** What kind of problem. */
export type FileProblemCode =
  | "NO_FRONT_MATTER" | "BAD_YAML" | "WRONG_TYPE" | "BAD_VALUE" | "MISSING_FIELD" | "DUPLICATE_NAME" | "TOO_LARGE"
  /** A settings file is not JSON with comments. */
  | "BAD_JSON"
  /** A file of rules is not TOML. */
  | "BAD_TOML"
  /** A field nobody knows; kept, not used. */
  | "UNKNOWN_FIELD"
  /**
   * A field that this version cannot carry out, and without which the agent would be freer, or forget: it is
   * not started.
   */
  | "UNSUPPORTED"
  /** `tools` names a tool that does not exist here. */
  | "UNKNOWN_TOOL"
  /** `model` names one that is not known here. */
  | "UNKNOWN_MODEL"
  /** `mcp.servers` names one that no settings have here. */
  | "UNKNOWN_SERVER"
  /** The file or folder could not be read. */
  | "UNREADABLE"
  | (string & {});

/** Data of `file.restored`: a change was undone. */
export interface FileRestored {
  /** The call whose change it was. */
  callId: CallId;
  path: string;
  undoId: string;
  /** Somebody had changed the file since, and that was overwritten. */
  forced?: boolean;
  /** The call had created the file, so nothing is at `path` now. */
  removed?: boolean;
  /** The call had moved the file, which is here again. */
  movedBackTo?: string | null;
}

/** The reason why a model stopped. */
export type FinishReason =
  /** It had said what it wanted, or wants tool results. */
  | "stop"
  /** The output limit was reached. */
  | "length"
  /** The provider withheld the answer; `message` is the provider's. */
  | {
    refused: {
      message: string;
    };
  }
  | (string & {});

/**
 * Data of `folder.forgotten`: a folder in which agents have worked, and that counts as one of theirs no
 * longer.
 */
export interface FolderForgotten {
  /** Absolute, without links. It counts again once a session begins there. */
  folder: string;
}

/** An output that was longer than the model's budget. `tools/output` gives it by page. */
export interface FullOutput {
  /**
   * The file on the daemon's machine, which `read_file` reads in the same session. It goes with its session.
   */
  path: string;
  /** What is kept of it, in bytes of UTF-8. */
  bytes: number;
  /** What there was, in bytes; more than `bytes` when it was too long even for keeping. */
  totalBytes: number;
}

export interface GcParams {
  /** Only says what would be removed. */
  dryRun?: boolean;
}

export interface GcResult {
  dryRun?: boolean;
  limits: RetentionLimits;
  /** Those that were removed, or would be, the one that was idle longest first; at most 1,000. */
  sessions: PrunedSession[];
  /** The number of sessions that were removed, or would be, beside those that are listed. */
  more?: number;
  /** The number of sessions that the limits would remove, but for somebody who is attached to them. */
  attached?: number;
  /**
   * The time by which the machine's clock went ahead of the time that is believed, where sessions go by age:
   * they do not grow older by it until the clock has stayed so for a day in which the daemon was at work.
   */
  clockAheadMs?: number;
  /** Bytes that the database and the outputs of tools take; of a dry run, what they take now. */
  usedBytes: number;
  /** Bytes of the database's file. */
  fileBytes: number;
  /**
   * Bytes by which that file has become smaller. Its last part goes when its write-ahead log is folded back.
   */
  givenBackBytes?: number;
  /**
   * The file was made by an older version and cannot become smaller. The next start of the daemon rewrites
   * it, which takes some seconds for each GiB.
   */
  rewrittenAtNextStart?: boolean;
  /** The newest event of what was done. */
  seq?: EventSeq | null;
}

/** What comes of a cursor that lies outside of the log. */
export type GoneCursorPolicy =
  /** `CURSOR_GONE`. */
  | "error"
  /**
   * A snapshot comes first, as with `session/attach` from `now`: of one session when exactly one is named and
   * no run, else of what lives in the sessions and runs that are named.
   */
  | "snapshot";

/**
 * Which later calls an answer allows besides the one it is about. How long it holds, and where, is the
 * outcome's to say.
 */
export type GrantScope =
  /** The same call again: the same command, or the same tool with the same arguments. */
  | "call"
  /** Commands that begin with the same words, up to the first argument that varies: `cargo test …`. */
  | "words"
  /** Changes of the same file. */
  | "file"
  /** Changes of files in the same folder and below it. */
  | "folder"
  /** All edits of this session: its mode becomes `autoEdit`. */
  | "edits"
  | (string & {});

/** One message of a context as clients read it. */
export interface HistoryMessage {
  /** The event that brought it into the context. */
  seq: EventSeq;
  runId: RunId;
  role: MessageRole;
  parts: (MessagePart | Record<string, unknown>)[];
}

/** The place where the command of a hook runs: in a sandbox or with the person's rights. */
export interface HookConfinement {
  /**
   * True in a sandbox, like an agent's commands: the workspace can be written, the rest only read. False with
   * the rights of the person.
   */
  confined: boolean;
  /**
   * The reason, a clause without its end. It names the file of the workspace, or the words of the command,
   * that it is about.
   */
  reason: string;
}

/** Everything that a hook says of what is about to happen. The greater one is the stricter one. */
export type HookDecision =
  /** It has no objection. Nothing gets looser by it. */
  | "allow"
  /** A person is to be asked. */
  | "ask"
  /** It must not happen, or must go on where a run would end. */
  | "deny"
  | (string & {});

/** A point of a run at which hooks are asked or told, as it is spelled in files and on the wire. */
export type HookEventName =
  /**
   * Before a session's first run, and the first one after its context was cleared or compressed or the daemon
   * was started.
   */
  | "SessionStart"
  /** A prompt, or a text that is said to a root run while it works, before its model reads it. */
  | "UserPromptSubmit"
  /** A prompt that a template or a skill made of what was typed. */
  | "UserPromptExpansion"
  /** A child run, before its model is asked for the first time. */
  | "SubagentStart"
  /** Any run, before its model is asked for the first time. */
  | "BeforeAgent"
  /** Before each request to a model. */
  | "BeforeModel"
  /** Before each request to a model: which tools it may choose among. */
  | "BeforeToolSelection"
  /** After each reply of a model. */
  | "AfterModel"
  /** A valid tool call, before the policy judges it. */
  | "PreToolUse"
  /** Before a question about a call is put to a person. */
  | "PermissionRequest"
  /** A call that the policy, the mode or a deadline refused. */
  | "PermissionDenied"
  /** The result of a call is known, and its model has not read it. */
  | "PostToolUse"
  /** The same of a call that failed. */
  | "PostToolUseFailure"
  /** All calls of a turn have ended. */
  | "PostToolBatch"
  /** Before a context is compressed. */
  | "PreCompact"
  /** A context was compressed. */
  | "PostCompact"
  /** Before a run hands its work to another agent. */
  | "BeforeHandoff"
  /** A root run is about to reach its goal. */
  | "Stop"
  /** A child run is about to reach its goal. */
  | "SubagentStop"
  /** Any run has ended. */
  | "AfterAgent"
  /** A root run ended, and neither reached its goal nor was cancelled. */
  | "StopFailure"
  /** An MCP server asks a person something. */
  | "Elicitation"
  /** Everything that a person answered it. */
  | "ElicitationResult"
  /** A memory file was read for a run. */
  | "InstructionsLoaded"
  /** A question was asked, or a run ended: what people are told. */
  | "Notification"
  /** A session was closed. */
  | "SessionEnd"
  | (string & {});

/** The meaning of a failure of a hook. */
export type HookFailure =
  /** It is told as a warning. */
  | "continue"
  /** Blocks what it guards. */
  | "block"
  /** A person is asked. */
  | "ask"
  | (string & {});

/** The reason why a hook cannot work, and what comes of that. */
export interface HookFault {
  /** A sentence without its end. */
  reason: string;
  failure: HookFailure;
}

/**
 * Data of `hook.fired`: one hook was asked or told, and this came of it. Whatever it led to stands in the
 * same transaction.
 */
export interface HookFired {
  /**
   * Names the firing: the same for all hooks that were asked at once, and for a firing that was begun anew
   * after a restart.
   */
  firingId: string;
  /** The id in `hooks/list`. */
  hookId: string;
  event: HookEventName;
  source: HookSource;
  /** The call that it is about. */
  callId?: CallId | null;
  /** More than 1 when the daemon died before the verdict was written down, and the firing was begun anew. */
  attempt?: number;
  /** Missing when it said nothing about it. */
  decision?: HookDecision | null | string;
  /** It went on beside the run, and decided nothing. */
  async?: boolean;
  /**
   * The tool of an MCP server that it called, or was to call, as rules name it: `mcp.SERVER.TOOL`. Only of a
   * hook of the type `mcp_tool`.
   */
  mcpTool?: ToolName | null;
  /** It changed what it was shown. In events of earlier versions also where the change did not count. */
  changed?: boolean;
  /** The change of a call's arguments that it wanted, where that did not count. */
  droppedChange?: DroppedChange | null;
  /** The text that it adds for the model to read, the first 2 KiB. */
  added?: string | null;
  /** Its message for people; shortened. */
  message?: string | null;
  /**
   * The call that is made because it wants that: what comes of it is read in place of the result of `callId`.
   */
  followUp?: CallId | null;
  /**
   * The text that the model reads in place of the result of `callId`, by the word of this hook. Missing in
   * events of earlier versions.
   */
  replacement?: ResultReplacement | null;
  /**
   * The round of the firing in which it was asked. From 2 on it was asked about the arguments as hooks had
   * changed them by then, also if it had not been asked before.
   */
  round?: number;
  /**
   * The time at which it was asked: the answers of a firing are written down together. Missing in events of
   * earlier versions.
   */
  startedAt?: Timestamp | null;
  outcome: HookOutcome;
  /** Only of a command that ended by itself. */
  exitCode?: number | null;
  durationMs: number;
  /** The reason why it decided so, or what is wrong with it; shortened. */
  reason?: string | null;
  /** The end of what it wrote to its standard error, at most 2 KiB. */
  stderr?: string | null;
  /**
   * The place where its command ran, or was to run. Missing if it is no command, and in events of earlier
   * versions.
   */
  confinement?: HookConfinement | null;
  /**
   * On the last answer of hooks that were asked about the result of a call: all is said of what the model
   * reads.
   */
  settlesResult?: boolean;
}

/** The way in which a hook ended. */
export type HookOutcome =
  /** It answered. */
  | "answered"
  /** It ended with a code that means nothing, by a signal, or with an HTTP status that is no success. */
  | "failed"
  /** It took too long. */
  | "timedOut"
  /** It could not be started, or its file is not what a person acknowledged. */
  | "notStarted"
  /** Everything that it said cannot be read, or is too long. */
  | "invalid"
  /** It was to be told something when the daemon stopped, and is not told again. */
  | "interrupted"
  | (string & {});

/** The place where a hook is configured. Their answers are joined in this order. */
export type HookSource =
  /** `/etc/subagentd/settings.json` */
  | "system"
  /** The user's settings. */
  | "user"
  /** Files of the workspace that a person acknowledged. */
  | "project"
  /** The file of the run's agent. */
  | "agent"
  | (string & {});

/** Fields that only hooks have. */
export interface HookSpan {
  /** The id in `hooks/list`. */
  hookId?: string;
  /** `system`, `user`, `project`, `agent`. */
  source?: string;
  /** The call that it is about. */
  callId?: CallId | null;
  /** The tool of that call. */
  tool?: ToolName | null;
  /** A description of that call for people, as the call has it. */
  description?: string | null;
  /**
   * `answered`, or the way in which it failed; `interrupted`, with the status `cancelled`, of one that was at
   * work when the daemon ended: its end is then when the log told of it last; `goesOn` of one beside the run
   * that went on after the run's end; missing while it is at work, and when it was cut off.
   */
  outcome?: string;
  /** `allow`, `ask`, `deny`; missing when it said nothing about it. */
  decision?: string | null;
  /** The reason why it decided so, or what is wrong with it. */
  reason?: string | null;
  exitCode?: number | null;
  /** It went on beside the run, and decided nothing. */
  async?: boolean;
  /** It changed what it was shown. */
  changed?: boolean;
  /** The change of the call's arguments that it wanted, where that did not count. */
  droppedChange?: DroppedChange | null;
  /** The text that it added for the model to read, the first 2 KiB. */
  added?: string | null;
  /** Its message for people; shortened. */
  message?: string | null;
  /** The text that the model read in place of the call's result, by the word of this hook. */
  replacement?: ResultReplacement | null;
  /**
   * The call that is made because it wants that: the model reads what comes of it in place of the result of
   * `callId`.
   */
  followUp?: CallId | null;
  /**
   * The place where its command ran, in a sandbox or with the person's rights, and why. Missing if it is no
   * command, and in logs of earlier versions.
   */
  confinement?: HookConfinement | null;
  /**
   * The round of the firing in which it was asked, from 2 on: it was asked again, about the arguments as a
   * hook had changed them.
   */
  round?: number | null;
  /**
   * It was asked about the call as a person had changed it who answered a question about it. In logs of
   * earlier versions a change that was refused then stands nowhere: `description` is missing.
   */
  edited?: boolean;
  /** More than 1 when the daemon died before its verdict was written down. */
  attempt?: number | null;
}

/** The standing of a hook. */
export type HookStanding =
  | "on"
  /** A person switched it off. */
  | "off"
  /**
   * Nobody acknowledged its file, or it stands in another product's file that `hooks.places` does not name:
   * it does nothing.
   */
  | "untrusted"
  /** Its file, or one that it runs, is not what a person acknowledged: a guard fails, others rest. */
  | "changed"
  /** Its entry cannot be read: a guard fails, others rest. */
  | "broken"
  /** Its event is never fired by this daemon. */
  | "neverFires"
  | (string & {});

/**
 * Data of `hook.started`: a hook has been at work for a second, so that followers see what the run waits for.
 * Nothing is decided by it. Its `hook.fired` follows under the same firing and hook, unless the daemon dies,
 * or what it is about is over, before it answers.
 */
export interface HookStarted {
  /** Names the firing, as in `hook.fired`. */
  firingId: string;
  /** The id in `hooks/list`. */
  hookId: string;
  event: HookEventName;
  source: HookSource;
  /** The call that it is about. */
  callId?: CallId | null;
  /** More than 1 when the daemon died before the verdict was written down, and the firing was begun anew. */
  attempt?: number;
  /** It goes on beside the run, which does not wait for it. */
  async?: boolean;
  /** The time that it has been at work by now. */
  elapsedMs: number;
}

export interface HooksListParams {
  /** Missing = without any project's. */
  workspace?: WorkspaceParam | null;
}

export interface HooksListResult {
  /** Sorted in the order in which their answers are joined. */
  hooks: ListedHook[];
  /** Mistakes in the files. */
  problems?: FileProblem[];
}

export interface HooksSetEnabledParams {
  /** The id in `hooks/list`. */
  id: string;
  enabled: boolean;
  /** The place where a project's hook is looked for. */
  workspace?: WorkspaceParam | null;
}

export interface HooksSetEnabledResult {
  id: string;
  enabled: boolean;
}

export interface HooksTestParams {
  /** The id in `hooks/list`. */
  id: string;
  /** The folder in which it runs. */
  workspace: WorkspaceParam;
  /**
   * The tool of the call that it is told of, by any of its names; only of an event that is about a call.
   * Missing = the first that its matcher and its `if` mean, and `run_shell_command` where they mean any.
   */
  tool?: string | null;
  /** The arguments of that call; of other events its facts, e.g. `prompt`. What is missing is made up. */
  input?: Record<string, unknown> | null;
}

export interface HooksTestResult {
  id: string;
  event: HookEventName;
  /** A run would fire it for just this: it is on, and its matcher and `if` mean it. */
  wouldFire: boolean;
  /** Everything that it was told. */
  input: unknown;
  stdout: string;
  /** The end of it. */
  stderr?: string;
  exitCode?: number | null;
  durationMs: number;
  outcome: HookOutcome;
  /** The place where its command ran, or was to run; missing if it is no command. */
  confinement?: HookConfinement | null;
  /** Its answer to this call, also where `wouldFire` is false and a run does not ask it. */
  decision?: HookDecision | null | string;
  reason?: string | null;
  /** Texts that the model would get. */
  context?: string[];
  /** The call's arguments as they would be after it. */
  arguments?: unknown;
  warnings?: string[];
  /** Everything that would happen in a run, in a sentence or two. */
  summary: string;
}

export interface IdeContextShared {
  /** The text that the model reads. */
  text: string;
  /** All that the editor shows; otherwise what has changed since the context was told last. */
  full?: boolean;
  /** Files that are open in the editor. */
  files: number;
}

export interface IdeContextUpdateParams {
  /** Runs of this session are told. */
  sessionId: SessionId;
  /** All that are open, at most 10; in place of what was said before. None: the editor shows nothing. */
  openFiles?: IdeFile[];
  /** The editor's person trusts the workspace. Otherwise nothing of this is told. */
  trusted?: boolean;
}

export interface IdeContextUpdateResult {
  /** The number of files that runs are told of. */
  files: number;
  /** Files that they are not told of. */
  omitted?: OmittedIdeFile[];
}

/** A place in a file; both count from 1. */
export interface IdeCursor {
  line: number;
  character: number;
}

/** A file that is open in an editor. */
export interface IdeFile {
  /** Absolute, below a root of the session. */
  path?: string;
  /** The person looks at it. */
  active?: boolean;
  cursor?: IdeCursor | null;
  /** At most 16 KiB. */
  selectedText?: string | null;
}

/**
 * Names one effect across repeats of a request: 8 to 128 characters, kept for 24 hours and as long as its
 * run. The same key with the same parameters answers the first result with `replayed: true`, with others
 * `IDEMPOTENCY_CONFLICT`.
 */
export type IdempotencyKey = string;

/** What becomes of a request to run an agent whose context is busy. */
export type IfBusy =
  /** It waits for its turn. */
  | "queue"
  /** Its prompt is said to the living run. */
  | "steer"
  /** The living run is cancelled, and this one comes next. */
  | "interrupt"
  /** `BUSY`. */
  | "reject";

export type ImportOutcome =
  /** It is there now, or would be. */
  | "written"
  /** It took another one's place, or would. */
  | "replaced"
  /** It is there already, word for word. */
  | "unchanged"
  /** Another one has its name. */
  | "skipped"
  /** It holds no agent. */
  | "rejected"
  | (string & {});

/** What became of one file. */
export interface ImportedAgent {
  /** Its path; of what came from a `url` the URL with the path in the repository. */
  source: string;
  format: AgentFormat;
  state: AgentFileState;
  /** As it is called where it was written to. */
  name: AgentName;
  outcome: ImportOutcome;
  /** Where it was, or would be, written to. */
  path?: string | null;
  /** What it may do. */
  permissions?: ImportedAgentPermissions | null;
  /**
   * Of a `url` with `dryRun`: what would be written, to be read before its digest is named. Missing where an
   * answer's size does not allow all texts.
   */
  text?: string | null;
  problems?: FileProblem[];
}

/** What an agent may do by its file. A person agrees to it, so what is empty or false is there, too. */
export interface ImportedAgentPermissions {
  /**
   * Tools, aliases and patterns that it names; missing = the default set, which `agent.schema.json` names.
   */
  tools?: ToolName[] | null;
  /** Besides `tools` every tool of these MCP servers. */
  servers: string[];
  /** Beats `tools`. */
  deny: ToolName[];
  /** Besides `tools` every tool there is. */
  inherits: boolean;
  /** Besides `tools` every agent that others may call. */
  agents: boolean;
  /** Risks of calls that run without asking where no rule speaks. */
  autoApprove: Risk[];
  /** Its own MCP servers, which each of its runs starts or reaches, and how, in words. */
  mcpServers: string[];
}

/** A file that a memory file imports. */
export interface ImportedMemoryFile {
  path: string;
  /** The file that names it. */
  by: string;
}

export interface InitializeParams {
  /** `"2"`. */
  protocolVersion: string;
  client: ClientInfo;
  /**
   * The client's own stable id. Missing = its name and a number, which are another client's the next time.
   */
  clientId?: string | null;
  /** What the client can do. Missing = nothing of it. */
  capabilities?: ClientCapabilities;
  /** Whether somebody is at the client. Missing = `active`. */
  presence?: Presence;
  /** Unknown parameter fields are errors instead of being ignored and reported. */
  strict?: boolean;
}

export interface InitializeResult {
  protocolVersion: string;
  daemon: DaemonInfo;
  clientId: ClientId;
  capabilities?: DaemonCapabilities;
  limits: WireLimits;
  /** The methods this daemon answers. */
  methods: string[];
}

/** One input of an agent. */
export interface InputSpec {
  /** `\w+` */
  name: string;
  description?: string | null;
  required: boolean;
  default?: unknown;
  /** JSON Schema; the short types of spec 02 are written out. */
  schema: unknown;
}

/** An extension as it was installed. */
export interface InstalledExtension {
  /** Made when it was installed first; the same when another version takes its place. */
  id: ExtensionId;
  /** The name of its folder, too. */
  name: string;
  version?: string | null;
  description?: string | null;
  /** The folder or the repository's URL that it came from. */
  source: string;
  /** The commit, of one that came from a repository. */
  commit?: string | null;
  /** Over path, mode and bytes of all its files: `sha256:<hex>`. One that is another one is off. */
  digest: string;
  /** False = a person switched it off. */
  enabled: boolean;
  installedAt: Timestamp;
  /** Everything that was left out, ignored or skipped when it was installed, a sentence each. */
  notes?: string[];
}

/** The outcome of a hook. */
export interface LastHookEnd {
  at: Timestamp;
  outcome: HookOutcome;
  decision?: HookDecision | null | string;
  /** The reason of one that failed, to be read after the hook's name: `ended with exit code 1: …`. */
  failureReason?: string | null;
}

/** How much a run may use. A missing field is the agent's own, else the daemon's default. */
export interface LimitsParams {
  maxTurns?: number | null;
  /** Active time: waiting for a person, queueing and downtime do not count. */
  maxTimeMs?: number | null;
  /** Prompt, output and thought tokens of all turns together. */
  maxTokens?: number | null;
  /** Of the run and those below it, by `models.prices`. */
  maxCost?: Cost | null;
  /** What happens once the tokens or the money are used up. */
  onBudget?: OnBudget | null;
  /** Time for the grace turn. */
  graceMs?: number | null;
  /** How many levels of agents may call agents below this run. */
  maxDepth?: number | null;
}

export interface ListedAlias {
  name: string;
  model: ModelRef;
}

/** A provider's entry. What one cannot tell costs the others nothing. */
export interface ListedEntry {
  name: string;
  /** What the provider speaks; missing when the entry's settings have mistakes. */
  kind?: string | null;
  baseUrl?: string | null;
  key?: ListedKey | null;
  /** What the provider has, by id, as far as it told. */
  models: ListedModel[];
  /** When it told; an answer is kept for ten minutes. */
  listedAt?: Timestamp | null;
  /** It has more models than are answered. */
  truncated?: boolean;
  /** The reason why its models are not known, for people. They may be there all the same. */
  problem?: string | null;
}

/** A hook, and how it stands. */
export interface ListedHook {
  /** The same as long as its place, event, matcher and what it runs stay what they are. */
  id: string;
  /** The same as it is written: `BeforeTool` is another name of `PreToolUse`. */
  event: string;
  source: HookSource;
  /** Absolute. */
  file: string;
  /** 1-based; missing where nobody knows it. */
  line?: number | null;
  /** Tools, sources or agents that it is about; missing = everything. */
  matcher?: string | null;
  /** The rule that a call must match. */
  if?: string | null;
  /** `command`, `http`, `mcp_tool`, `prompt` or `agent`; `unreadable` when nobody can tell. */
  type: string;
  /** Everything that it runs, in one line; of an entry that cannot be read the mistake. */
  runs: string;
  onFailure: HookFailure;
  timeoutSeconds: number;
  /** It goes on beside the run and decides nothing. */
  async?: boolean;
  state: HookStanding;
  /** The reason why it does not run. */
  reason?: string | null;
  /**
   * The fault that keeps a hook that is on from working, as far as its text and the disk tell: its script is
   * not there, for example. Only where a `workspace` is given.
   */
  fault?: HookFault | null;
  /**
   * A variable without a value in its command, which may work all the same. Only where a `workspace` is
   * given.
   */
  warning?: string | null;
  /**
   * The place where its command runs. Missing if it is no command, and of hooks of the system and the user
   * where no `workspace` is given: those are confined in each workspace of which they name a file.
   */
  confinement?: HookConfinement | null;
  /**
   * The outcome of it the last time, as far as the newest 20,000 events of the log before the daemon's start
   * and all since then tell.
   */
  last?: LastHookEnd | null;
}

/** Whether an entry has a key; never the key. */
export interface ListedKey {
  state: ListedKeyState;
  /** Where it was looked for, for people. */
  from?: string | null;
  /** The reason why there is none, for people. */
  problem?: string | null;
}

export type ListedKeyState =
  | "found" | "missing"
  /** The entry is a server of one's own, which is asked without. */
  | "notNeeded"
  /** There is something, and it cannot be taken. */
  | "unusable"
  | (string & {});

/** A server, in one line. */
export interface ListedMcpServer {
  name: string;
  state: McpState;
  /** The reason why it is away, or is not used. */
  reason?: string | null;
  /** Whose settings name it; missing for one that is not used. */
  origin?: McpOrigin | null | string;
  /** Whose run has it for itself; missing for one that is shared. */
  agent?: AgentName | null;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
  /** Missing for one that is not used. */
  transport?: McpTransportKind | null | string;
  /** How many tools it has that can be used; 0 while it is not ready. */
  tools: number;
}

export interface ListedModel {
  /** `entry/id`: what `model` takes. */
  model: ModelRef;
  /** For people. */
  title?: string | null;
  /** Tokens that it takes in. */
  window: number;
  windowFrom: WindowSource;
}

/** A rule, and what it is good for. */
export interface ListedRule {
  /** Of a file's rule its place, e.g. `user:shop.toml:3`; of a remembered one an id of its own. */
  id: string;
  tier: PolicyTier;
  /** Names, aliases or patterns with `*`. */
  tool: string[];
  agent?: string | null;
  /** Commands that it is about, each a prefix of words; shell only. */
  commandPrefix?: string[];
  /** Regular expression over the canonical JSON of the arguments. */
  argsPattern?: string | null;
  kind?: ToolKind | null | string;
  risk?: Risk | null | string;
  /** Empty = every mode. */
  modes?: ApprovalMode[];
  /** Only in this workspace: an absolute path. */
  workspace?: string | null;
  /** Only in this session. */
  session?: SessionId | null;
  /** Only calls that touch nothing but these; of remembered rules. */
  accesses?: (ResourceAccess | Record<string, unknown>)[];
  /** The accesses are folders, and stand for the files in them and below; of remembered rules. */
  recursive?: boolean;
  /** Only commands that are confined at least so closely; of remembered rules about commands. */
  confinement?: CommandConfinement | null;
  decision: Verdict;
  /** Higher first, within a tier. */
  priority?: number;
  /** Why, shown to the model on deny. */
  message?: string | null;
  /** Who made a remembered rule. */
  createdBy?: string | null;
  createdAt?: Timestamp | null;
  /** The question whose answer made it. */
  fromConfirmation?: ConfirmationId | null;
  /**
   * It stands for one that has a mistake, and says at least what that may have meant. No other rule lifts it:
   * mend the file.
   */
  mistaken?: boolean;
  /** Of a remembered rule: what it allows, in plain words. */
  allows?: string | null;
  /** Of a remembered rule: when it last let a call run. Missing = never. */
  lastUsedAt?: Timestamp | null;
}

/** One tool, as it is declared to a model and listed to clients. */
export interface ListedTool {
  name: ToolName;
  /** For people. */
  title: string;
  /** For the model. */
  description: string;
  kind: ToolKind;
  risk: Risk;
  /** JSON Schema (2020-12) of the arguments. */
  parameters: unknown;
  source: ToolSource;
  state: ListedToolState;
  /** Of an excluded one: what excludes it, and where that stands. */
  rule?: string | null;
  /** Of one that a client lends: that client. */
  clientId?: ClientId | null;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
}

/** Whether runs get a tool. */
export type ListedToolState =
  | "available"
  /** Neither declared nor callable. */
  | "excluded"
  | (string & {});

/** A workspace about whose trust a person has spoken. */
export interface ListedWorkspace {
  /** Canonical. */
  roots: string[];
  /** A person said so, of each root. */
  trusted: boolean;
}

/** Fields that only requests to models have. */
export interface LlmSpan {
  model?: string;
  /** The purpose of a request of the daemon's own; missing on a request of a turn. */
  purpose?: string | null;
  /** The id of the hook that made the request; the span lies within the hook's. */
  hookId?: string | null;
  /** 1-based within its turn. */
  attempt?: number | null;
  /** The request before it was cut off as the daemon ended, and it asks the same once more. */
  repeatedAfterRestart?: boolean;
  /**
   * Time from the request to the first that came of the reply: text, thoughts or calls; without that of hooks
   * of the request. Missing when nothing came, and on what the daemon itself asked for.
   */
  firstTokenMs?: number | null;
  /** Time from its end until it was asked again; missing when it was not, or at once. */
  retryAfterMs?: number | null;
  /** `stop`, `length`, `refused`. */
  finishReason?: string | null;
  /** The text was cut: the run was stopped while it was written. */
  cut?: boolean;
  /** The daemon estimated the tokens, or some of them. */
  estimated?: boolean;
  /**
   * The reply was cut off before anything had come of it, or as the daemon ended, and it may have cost
   * something: `usage` and `cost` are missing, or say only what earlier tries took.
   */
  usageUnknown?: boolean;
  /** Calls that the reply asks for. */
  calls?: number;
  /** The same by name; the first 64. */
  requested?: RequestedCall[];
  /** Calls whose results the model reads with this request for the first time; the first 64. */
  answered?: AnsweredToolCall[];
  /** The number of further ones. */
  moreAnswered?: number;
}

export interface LogsParams {
  /** Lines after this number; missing = the newest `limit`. */
  after?: number | null;
  /** Missing = 100. */
  limit?: number | null;
  /** When there is no such line yet: waits this long for the first. At most 60,000. */
  waitMs?: number;
}

export interface LogsResult {
  /** Oldest first. */
  lines: string[];
  /** The number of the last of these; give it as `after` for those that follow. */
  last: number;
  /** Lines between `after` and the first of these that are no longer kept. */
  missed: number;
}

export interface LoopDetected {
  kind: LoopKind;
  /** What is repeated. */
  message: string;
  /** The model is told once; the second time the run stops. */
  stops: boolean;
}

/** How a run goes round in circles. */
export type LoopKind =
  /** The same tool calls, with the same arguments. */
  | "calls"
  /** The same text. */
  | "text"
  /** A model looked at what was done, and says so. */
  | "judge"
  | (string & {});

/** A hook that a call meets. */
export interface MatchedHook {
  id: string;
  event: HookEventName;
  /** One line that says what it runs. */
  runs: string;
  /** The reason why it fails without being asked, so that it refuses what it guards. */
  denyReason?: string | null;
  /** The reason why it fails without being asked, so that a person is asked. */
  askReason?: string | null;
  /**
   * The reason why it is not asked or told, and the call goes on without it: nobody has acknowledged its
   * file, or it fails and guards nothing.
   */
  skipped?: string | null;
  /** A variable without a value in its command, which may work all the same. */
  warning?: string | null;
}

export interface McpAddParams {
  name: string;
  /** What stands under the name in `mcpServers`. */
  server: Record<string, unknown>;
  /** Whose settings it goes into. */
  scope?: McpScope;
  /** For the scope `project`: into the settings of its first folder. */
  workspace?: WorkspaceParam | null;
  /** Another entry of the name may be replaced. The file as it was goes to the trash. */
  force?: boolean;
  idempotencyKey?: IdempotencyKey | null;
}

/** How calls went since the daemon started. */
export interface McpCalls {
  calls: number;
  errors: number;
  /** Half of the last ones took no longer; missing when there were none. */
  p50Ms?: number | null;
  /** All but one of a hundred of the last ones took no longer. */
  p99Ms?: number | null;
}

export interface McpListParams {
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
}

export interface McpListResult {
  /** By name. */
  servers: ListedMcpServer[];
}

export interface McpLoginParams {
  server: string;
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
  /** How long to wait for what was begun. Missing = it is begun, and what was begun before ends. */
  waitMs?: number | null;
}

export interface McpLoginResult {
  server: string;
  state: McpLoginState;
  /** Where a person has to go, of one that was just begun. */
  url?: string | null;
  /** The reason why it failed. */
  error?: string | null;
}

/** How it is with signing in. */
export type McpLoginState =
  | "failed"
  /** Nobody has come back yet, or nobody began. */
  | "waiting"
  /** Somebody signed in, and the server is tried. */
  | "done"
  | (string & {});

export interface McpLogoutResult {
  server: string;
  /** Somebody had signed in. */
  wasSignedIn: boolean;
  /** Whoever issued the tokens took them back. */
  revoked: boolean;
}

/** Whose settings name a server. */
export type McpOrigin =
  | "user" | "project"
  /** It stands in an agent's file, and one run of that agent has it for itself. */
  | "agent"
  /** An extension brings it along. */
  | "extension"
  | (string & {});

/** A prompt that a server has. */
export interface McpPrompt {
  name: string;
  title?: string | null;
  description?: string | null;
  arguments?: McpPromptArgument[];
}

/** What a prompt is filled in with. */
export interface McpPromptArgument {
  name: string;
  description?: string | null;
  required?: boolean;
}

export interface McpPromptsParams {
  server: string;
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
  /** What this one says; missing = they are listed. */
  prompt?: string | null;
  /** What it is filled in with. */
  arguments?: Record<string, string>;
}

export interface McpPromptsResult {
  /** Those there are, when none was named. */
  prompts?: McpPrompt[];
  /** What the named one says, one message after the other: a run can be started with the texts. */
  parts?: (MessagePart | Record<string, unknown>)[];
}

export interface McpReadResourceParams {
  server: string;
  uri: string;
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
}

export interface McpReadResourceResult {
  /** What is no text and no image, sound or PDF, is described. */
  parts: (MessagePart | Record<string, unknown>)[];
}

export interface McpRemoveParams {
  name: string;
  /** Whose settings it is taken out of. */
  scope?: McpScope;
  /** For the scope `project`: out of the settings of its first folder. */
  workspace?: WorkspaceParam | null;
  idempotencyKey?: IdempotencyKey | null;
}

/** A resource that a server lists. */
export interface McpResource {
  uri: string;
  name: string;
  description?: string | null;
  mimeType?: string | null;
  /** In bytes. */
  size?: number | null;
}

export interface McpResourcesResult {
  resources: McpResource[];
}

/** Whose settings are written. */
export type McpScope = "user" | "project" | (string & {});

/** How a server of the Model Context Protocol is; `mcp/status` tells more. */
export interface McpServerHealth {
  name: string;
  /** Whose it is; empty where nobody works in a folder. */
  workspace?: string[];
  state: McpState;
  /** The reason why it is away. */
  reason?: string | null;
}

/** A server, and where. */
export interface McpServerParams {
  server: string;
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
}

/** Data of `mcp.serverState`. States that a server had for a moment only may be left out. */
export interface McpServerStateChanged {
  server: string;
  /** Whose run has it for itself; missing for one that is shared. */
  agent?: AgentName | null;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
  /** The folders of the workspace that it serves. */
  workspace: string[];
  state: McpState;
  /** The reason why it is away. */
  error?: string | null;
}

/** All that is known of a server. */
export interface McpServerStatus {
  name: string;
  state: McpState;
  /** The reason why it is away, or is not used. */
  reason?: string | null;
  /** Whose settings name it; missing for one that is not used. */
  origin?: McpOrigin | null | string;
  /** Whose run has it for itself; missing for one that is shared. */
  agent?: AgentName | null;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
  /** Missing for one that is not used. */
  transport?: McpTransportKind | null | string;
  /** How many tools it has that can be used; 0 while it is not ready. */
  tools: number;
  /** Name and version in its own words. */
  server?: string | null;
  /** The process that runs it, or watches over it. */
  pid?: number | null;
  /** The reason why it was away last. */
  lastError?: string | null;
  /** Times it was started again. */
  restarts: number;
  /** When it is tried again. */
  nextTryAt?: Timestamp | null;
  /** What it has that can be used. */
  toolNames?: ToolName[];
  /** What is odd about its tools. */
  warnings?: string[];
  /** The last that its program printed on standard error. */
  stderr?: string;
  /** Of all its tools. */
  calls: McpCalls;
  /** By tool, of those that were called. */
  byTool?: Record<string, McpCalls>;
}

export interface McpSetEnabledParams {
  /** In every workspace. */
  server: string;
  enabled: boolean;
}

export interface McpSetEnabledResult {
  server: string;
  enabled: boolean;
}

/** Fields that only requests to MCP servers have. */
export interface McpSpan {
  server: string;
  /** `tools/call` */
  method: string;
  /** The tool as its server calls it. */
  tool: string;
  callId: CallId;
}

/** Whether a server can be used. */
export type McpState =
  | "connecting" | "ready"
  /** Somebody switched it off, or its entry is. */
  | "disabled"
  /** The settings do not allow it. */
  | "blocked"
  /** A workspace's own settings name it, which nobody has acknowledged as they are. */
  | "untrusted"
  /** Nobody needs it; it is started when somebody does. */
  | "idle"
  /** It is away, and is not tried again by itself: its entry is wrong, or nobody needs it any more. */
  | "failed"
  /** It is away, and is tried again soon. */
  | "backoff"
  | (string & {});

export interface McpStatusParams {
  /** Of this server alone. */
  server?: string | null;
  /** As it is there. Missing = where nobody works in a folder. */
  workspace?: WorkspaceParam | null;
}

export interface McpStatusResult {
  /** By name. */
  servers: McpServerStatus[];
}

export interface McpTemplateParams {
  /** Where it is written to, absolute, in a folder that is there. Missing = it is only answered. */
  path?: string | null;
  /** Another file may be replaced. It goes to the trash. */
  force?: boolean;
}

export interface McpTemplateResult {
  /** What the server is called in `entry`. */
  name: string;
  /** What the file is called: the path, or the usual name. */
  file: string;
  /** A small server that works: Python, without anything to be installed. */
  text: string;
  /** What stands in the settings under `mcpServers` for it, as JSON. */
  entry: string;
  /** Where it was written to; missing when it was not. */
  path?: string | null;
}

/** Data of `mcp.toolsChanged`: what runs that begin from now on may be given. */
export interface McpToolsChanged {
  server: string;
  /** Whose run has it for itself; missing for one that is shared. */
  agent?: AgentName | null;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
  /** The folders of the workspace that it serves. */
  workspace: string[];
  /** All that it has now. */
  tools: ToolName[];
  /** How many more there are that are not listed; `mcp/status` has all. */
  more?: number;
}

/** The way to a server. */
export type McpTransportKind =
  /** A program that the daemon starts. */
  | "stdio"
  /** Streamable HTTP. */
  | "http"
  | (string & {});

export interface McpWrittenResult {
  name: string;
  scope: McpScope;
  path: string;
  /** What is odd about it, and what keeps it from being used. */
  warnings?: string[];
  /** Of the last event that it caused; missing when it changed nothing that is in force. */
  seq?: EventSeq | null;
  /** The answer of an earlier request with the same key. */
  replayed?: boolean;
}

/** A memory file that is there. */
export interface MemoryFileRecord {
  path: string;
  /** It comes from the workspace; otherwise from the user or the system. */
  fromWorkspace?: boolean;
  state: MemoryFileUse;
  /** The reason why it is not used. */
  reason?: string | null;
  /** On the disk. */
  bytes: number;
  /** The tokens of its text with what it imports, about. */
  tokens: number;
  text?: string | null;
}

/** The use of a memory file. */
export type MemoryFileUse =
  /** Runs are told what it says. */
  | "used"
  /** Another one of its folder counts, or says the same. */
  | "shadowed"
  /** Nobody has trusted its workspace. */
  | "untrusted"
  /** It cannot be read, or is no text. */
  | "skipped"
  /** There was no room for it. */
  | "dropped"
  /** It lies in a sub-folder: a run is told what it says with its first call that comes there. */
  | "below"
  | (string & {});

export interface MemoryFilesParams {
  /** Missing: the user's and the system's files alone. */
  workspace?: WorkspaceParam | null;
  /** Also answers what each file says to runs. */
  withText?: boolean;
}

export interface MemoryFilesResult {
  /** The files that are there, the farthest first: where two disagree, the later one counts. */
  files: MemoryFileRecord[];
  /** Into which file `save_memory` writes what is for all of the user's work. */
  userFile: string;
  /** Into which one for this workspace. */
  projectFile?: string | null;
  warnings?: string[];
}

/** Data of `memory.saved`: a fact was written to a memory file. */
export interface MemorySaved {
  callId: CallId;
  path: string;
  fact: string;
}

/** One piece of a message. */
export type MessagePart =
  | {
    type: "text";
    text: string;
  }
  /** The model's reasoning. `signature` is opaque and goes back unchanged. */
  | {
    type: "thought";
    text: string;
    signature?: string | null;
  }
  | ToolCall & {
    type: "toolCall";
  }
  | {
    type: "toolResult";
    callId: CallId;
    providerCallId?: string | null;
    name: ToolName;
    parts: (MessagePart | Record<string, unknown>)[];
    isError?: boolean;
  }
  /** Bytes in base64. */
  | {
    type: "inlineData";
    mimeType: string;
    data: string;
  }
  /** A file the provider fetches itself. */
  | {
    type: "file";
    mimeType: string;
    uri: string;
  };

/** Who speaks. */
export type MessageRole =
  | "user" | "model"
  /** Results of tool calls; stands right after the model message that asked for them. */
  | "tool"
  | (string & {});

export interface ModelCompleted {
  stream: string;
  model: string;
  /** The whole text; the stream's text deltas add up to it. */
  text: string;
  /** The text was cut: the run was stopped while it streamed. */
  cut?: boolean;
  finishReason?: FinishReason | null | string | Record<string, unknown>;
  usage: Usage;
  /**
   * The provider did not say what it counted, or not all of it as the reply was cut off: `usage` is the
   * daemon's estimate.
   */
  estimated?: boolean;
  /**
   * The request was cut off before anything had come of it: `usage` is 0 and `cost` missing, and nobody knows
   * what it cost.
   */
  usageUnknown?: boolean;
  /** Missing when nobody told the model's price. */
  cost?: Cost | null;
  /**
   * Milliseconds from the request to the first that came of the reply: text, thoughts or calls. Missing when
   * nothing came.
   */
  firstTokenMs?: number | null;
  /** Ids of the tool calls it asks for, in order. */
  calls: CallId[];
  /**
   * The failure of the request of a last turn, for which there is no further one: the run ends for the reason
   * that it had before.
   */
  error?: string | null;
}

export interface ModelFallback {
  from: string;
  /** The run goes on with this one, to its end. */
  to: string;
  /** What was wrong with the one before. */
  message: string;
  /** Tokens that fit the new one. */
  contextWindow?: number | null;
  /**
   * What the new one's alias or entry says of sampling; missing = it samples as the run's first model did.
   */
  sampling?: SamplingSettings | null;
}

/** A model as a user names it: `entry/model-id`, an alias, `offline`, `replay:FILE`. */
export type ModelRef = string;

export interface ModelRetrying {
  /** The stream whose text no longer counts. */
  stream: string;
  /** The attempt that follows. */
  attempt: number;
  notBefore: Timestamp;
  /** The daemon was restarted while the model answered; counts as no failure. */
  restarted?: boolean;
  /** Text of the failed attempt was shown, or may have been (after a crash). */
  discarded: boolean;
  /** Why. */
  message: string;
  /**
   * The model of the failed attempt, where `usage` says what that took, or the daemon was restarted and
   * nobody knows.
   */
  model?: string | null;
  /**
   * What the failed attempt took: counted like a reply's, and estimated where something of a reply had come
   * that its provider had not counted. Missing = nothing had come, and it counts nothing, or nobody knows
   * (`usageUnknown`).
   */
  usage?: Usage | null;
  /** What that cost; missing = the model's price is not known. */
  cost?: Cost | null;
  /**
   * Some of `usage` is the daemon's estimate: the attempt failed before the provider had counted all of it.
   */
  estimated?: boolean;
  /**
   * The response broke off before anything had come, or the daemon was restarted: nobody knows what the
   * attempt took, and it may have cost something.
   */
  usageUnknown?: boolean;
  /** The same as in `model.completed`, of the failed attempt. */
  firstTokenMs?: number | null;
}

export interface ModelRouted {
  model: string;
  by: RoutedBy;
  /** The classifier's, or why it has no say. */
  reason: string;
  /** Tokens that fit the model. */
  contextWindow?: number | null;
  /** What its alias or entry says of sampling; missing = it samples as the run began. */
  sampling?: SamplingSettings | null;
}

export interface ModelStarted {
  model: string;
  /** Names the text's stream in deltas; new at every attempt. */
  stream: string;
  /** 1-based within the turn. */
  attempt: number;
}

export interface ModelThought {
  stream: string;
  /** Its first `**bold**` span, else its first line. */
  subject: string;
  /** The whole; the stream's thought deltas add up to it. */
  text: string;
}

/** Two models for one run to choose from. */
export interface ModelTiers {
  /** For what is easily answered. */
  fast: NamedModel;
  /** For what needs thought. */
  strong: NamedModel;
}

export interface ModelsListParams {
  /** Asks the providers anew, whatever they said a while ago. */
  refresh?: boolean;
  /** Of this entry alone. */
  entry?: string | null;
}

export interface ModelsListResult {
  /** By name: the entries of `providers`, and those that are there without being named. */
  entries: ListedEntry[];
  /** Names of the user's own. */
  aliases: ListedAlias[];
  /** The model of agents that name none. */
  default?: ModelRef | null;
  /** The model for short questions beside the runs. */
  small?: ModelRef | null;
  /** The model that is always there: rules, no language model. */
  offline: ModelRef;
}

export interface ModelsTestParams {
  /** A model's name as runs take it: `entry/id`, a bare id, or an alias. */
  model: ModelRef;
}

export interface ModelsTestResult {
  /** The name by which runs would know it. */
  model: ModelRef;
  /** It answered the question, whatever it said. */
  reachable: boolean;
  /** Milliseconds until the whole answer was there, or until it was clear that none comes. */
  latencyMs: number;
  /** Milliseconds until the first of it was there. */
  firstTokenMs?: number | null;
  /** It called the tool that it was asked to call. */
  toolCalls: boolean;
  usage: Usage;
  /** Tokens that it takes in. */
  window: number;
  windowFrom: WindowSource;
  /** Missing when nobody told its price (`models.prices`). */
  cost?: Cost | null;
  /** What went wrong, in the provider's words, for people. */
  problem?: string | null;
}

/** A run that was asked for after another one, and was moved ahead of it in the queue of their context. */
export interface MovedAhead {
  runId: RunId;
  agent: AgentName;
  /** The client that moved it. */
  by?: string | null;
  at: Timestamp;
}

/** A model by its name, and the tokens that fit it. */
export interface NamedModel {
  name: string;
  contextWindow: number;
  /** What its alias says of sampling, else its provider's entry. */
  sampling?: SamplingSettings;
}

/** A run that had a context after another one. */
export interface NextHolder {
  runId: RunId;
  agent: AgentName;
}

/** No parameters. */
export type NoParams = Record<string, never>;

export interface NotRestorable {
  callId: CallId;
  tool: ToolName;
  reason: string;
}

/** A program that settings name, and its files as they were noted and as they are. */
export interface NotedProgram {
  id: ProgramId;
  source: ProgramSource;
  /** The first word of the command, or the server's name. */
  name: string;
  /** The folders of the workspace that a server was started in. */
  workspace?: string[];
  /** The files that others than root can change. */
  files: NotedProgramFile[];
  /** It is not run: a file is another one than was noted, or was not noted. */
  changed: boolean;
}

export interface NotedProgramFile {
  /** Absolute, without links. */
  path: string;
  /**
   * The digest when it was first run, or when a person acknowledged it last: `sha256:<hex>`. Missing = it was
   * not there.
   */
  noted?: string | null;
  /** The digest now. Missing = it is gone, or cannot be read. */
  now?: string | null;
}

/** The reason why the daemon added a message of its own to a context. */
export type NudgeReason =
  /** The answer was cut by the output limit, and the model is to go on. */
  | "cutShort"
  /** It goes round in circles. */
  | "loop"
  /** It stopped and had not said all. */
  | "nextSpeaker"
  /** A hook has something to say to it. */
  | "hook"
  | (string & {});

/** Something that was left out, and why. */
export interface OmittedIdeFile {
  /** The file; missing = all of them. */
  path?: string | null;
  reason: string;
}

/** What happens when a run has used up its tokens or its money. */
export type OnBudget =
  /** It gets a grace turn and ends `BUDGET`. */
  | "end"
  /** It stops, and a person is asked whether it may have more. */
  | "ask"
  | (string & {});

/** What happens to an imported agent whose name is taken where it goes. */
export type OnConflict =
  /** It is not written. */
  | "skip"
  /** The other one goes to the trash. */
  | "replace"
  /** It is called after the folder that it comes from, too: `folder-name`. */
  | "namespace";

/** What becomes of a question whose time is over. Nothing is ever allowed by time. */
export type OnDeadline = "deny" | "cancelRun" | "park" | (string & {});

/** What becomes of a question while nobody can be asked. */
export type OnDetached =
  /** It waits, and finds the next client that attaches. */
  | "wait"
  /** It is denied (`NO_CLIENT`), and the model is told why. */
  | "deny"
  /** The run ends `UNATTENDED`. */
  | "fail"
  /** The run is parked until it is answered or unparked. */
  | "park"
  | (string & {});

/** What becomes of a call when the client that was to answer it goes away. */
export type OnDisconnect =
  /**
   * It waits until the same client is back and lends the tool again, and is told to it again; also after a
   * restart of the daemon.
   */
  | "wait"
  /** It ends in an error that says so; after a restart of the daemon as `INTERRUPTED`. */
  | "fail"
  | (string & {});

/** A call that a client has not answered. */
export interface OpenClientCall {
  callId: CallId;
  sessionId: SessionId;
  runId: RunId;
  name: ToolName;
  arguments: unknown;
}

/** A text that grows: what a model is writing, or what a call puts out while it runs. */
export interface OpenStreamText {
  runId: RunId;
  /** As in `model.started`; of a call's output, the call's id. */
  stream: string;
  /** The call whose output it is, which goes on as `tool.output`. Missing for what a model is writing. */
  callId?: CallId | null;
  afterSeq: EventSeq;
  /** Deltas go on from the end of these. */
  text: string;
  thought: string;
}

/** A call that has not ended, as a snapshot shows it. */
export interface OpenToolCall {
  runId: RunId;
  callId: CallId;
  name: ToolName;
  state: CallState;
  /** What validation found out; missing before. */
  details?: CallDetails | null;
  childRunId?: RunId | null;
}

/**
 * Data of `tool.output`: more of what a call puts out while it runs. Not stored; the event that ends the call
 * has the whole as `output`.
 */
export interface OutputDelta {
  callId: CallId;
  /** The event that said that the call executes. */
  afterSeq: EventSeq;
  /** UTF-8 bytes of the call's output before this delta. */
  offset: number;
  text: string;
}

/** Which of a call's outputs. */
export type OutputStream =
  /** The texts of its result, one after the other, as the model would have got them. */
  | "result";

/** The reason why a run holds still. */
export type ParkReason =
  /** The disk is full. */
  | "storageFull"
  /** A question waits, and nobody is there who could answer it. */
  | "unattended"
  | (string & {});

export interface PingResult {
  at: Timestamp;
}

/** Data of `policy.changed`: other rules hold from now on. */
export interface PolicyChanged {
  /** Rules that were remembered. */
  added?: PolicyRule[];
  /** Ids of remembered rules that hold no more. */
  removed?: string[];
  /** Rule files that were read anew and say something else than before. */
  files?: string[];
}

export interface PolicyCheckParams {
  /** A name or an alias. */
  tool: ToolName;
  arguments: unknown;
  /** Missing = the session's, else the daemon's default. */
  agent?: AgentName | null;
  /** In this session; it or `workspace` is needed. */
  sessionId?: SessionId | null;
  workspace?: WorkspaceParam | null;
}

/** What would become of the call. Nothing was run or written. */
export interface PolicyCheckResult {
  decision: Verdict;
  /** The rule that decided, e.g. `builtin:risk=low` or `user:shop.toml:3`. */
  rule: string;
  /** For people. */
  reason: string;
  /** Canonical. */
  tool: ToolName;
  kind: ToolKind;
  risk: Risk;
  /** For people. */
  description: string;
  accesses: (ResourceAccess | Record<string, unknown>)[];
  /**
   * The hooks that a run would ask or tell about this call: before it is judged, before a person is asked,
   * and after it. They are not run here, and may refuse or change it.
   */
  hooks?: MatchedHook[];
}

export interface PolicyListParams {
  /** With the rules of this workspace's own files, if it is trusted. */
  workspace?: WorkspaceParam | null;
}

export interface PolicyListResult {
  /** By tier, then in the order in which they speak. */
  rules: ListedRule[];
  /** What is wrong with the files they come from. */
  problems: FileProblem[];
}

export interface PolicyRemoveParams {
  /** Of a remembered rule, as `policy/list` tells it. */
  ruleId: string;
}

export interface PolicyRemoveResult {
  ruleId: string;
  seq: EventSeq;
}

/** One rule. Each field that is given narrows which calls it is about. */
export interface PolicyRule {
  /** Of a file's rule its place, e.g. `user:shop.toml:3`; of a remembered one an id of its own. */
  id: string;
  tier: PolicyTier;
  /** Names, aliases or patterns with `*`. */
  tool: string[];
  agent?: string | null;
  /** Commands that it is about, each a prefix of words; shell only. */
  commandPrefix?: string[];
  /** Regular expression over the canonical JSON of the arguments. */
  argsPattern?: string | null;
  kind?: ToolKind | null | string;
  risk?: Risk | null | string;
  /** Empty = every mode. */
  modes?: ApprovalMode[];
  /** Only in this workspace: an absolute path. */
  workspace?: string | null;
  /** Only in this session. */
  session?: SessionId | null;
  /** Only calls that touch nothing but these; of remembered rules. */
  accesses?: (ResourceAccess | Record<string, unknown>)[];
  /** The accesses are folders, and stand for the files in them and below; of remembered rules. */
  recursive?: boolean;
  /** Only commands that are confined at least so closely; of remembered rules about commands. */
  confinement?: CommandConfinement | null;
  decision: Verdict;
  /** Higher first, within a tier. */
  priority?: number;
  /** Why, shown to the model on deny. */
  message?: string | null;
  /** Who made a remembered rule. */
  createdBy?: string | null;
  createdAt?: Timestamp | null;
  /** The question whose answer made it. */
  fromConfirmation?: ConfirmationId | null;
  /**
   * It stands for one that has a mistake, and says at least what that may have meant. No other rule lifts it:
   * mend the file.
   */
  mistaken?: boolean;
}

/**
 * Where a rule comes from. The strictest of system, user, project and the agent's own file counts; what is
 * built in speaks only where system and user are silent.
 */
export type PolicyTier =
  | "builtin"
  /** `/etc/subagentd/policies/` */
  | "system"
  /** The user's config, and what was remembered from answers. */
  | "user"
  /** A trusted project's folder; it can only make things stricter. */
  | "project"
  /** The file of the agent whose run asks; it can only make things stricter. */
  | "definition"
  | (string & {});

/** Whether somebody is at a client, as the client says. */
export type Presence = "active" | "idle" | "away" | (string & {});

/**
 * Data of `signal.presence`: who is attached to the session, or to any with a subscription to all. Sent when
 * that changes, by somebody else than the receiver; of several changes only what came of them.
 */
export interface PresenceSignal {
  /** The one that has been there longest first; at most 32. */
  clients: ClientSummary[];
  /** How many there are; `client/list` has all. */
  total: number;
}

export type ProblemSeverity = "warning" | "error" | (string & {});

/** Names a program of the settings: another command, server or workspace is another program. */
export type ProgramId = string;

/** Data of `program.noted`: with which files a program of the settings may be run, from now on. */
export interface ProgramNoted {
  id: ProgramId;
  source: ProgramSource;
  /** The first word of the command, or the server's name; of a hook its command in a few words. */
  name: string;
  /** The folders of the workspace that a server is started in. */
  workspace?: string[];
  /** Absolute paths without links, and digests: in place of those that were noted before. */
  files: TrustedFile[];
  /** A person has looked at it. Otherwise it is noted since it was never run before. */
  acknowledged?: boolean;
}

/** The part of the settings that names a program. */
export type ProgramSource =
  /**
   * A command that the daemon runs itself: `approval.notifyCommand`, one that prints a key, or a hook of the
   * settings.
   */
  | "command"
  /** A server of the user's own, in one workspace. */
  | "mcpServer"
  | (string & {});

export interface ProgramsAcknowledgeParams {
  id: ProgramId;
  /** Every file of the program that is there, as `programs/list` told it: just these are run from then on. */
  files: TrustedFile[];
}

export interface ProgramsAcknowledgeResult {
  program: NotedProgram;
  seq: EventSeq;
}

export interface ProgramsListResult {
  /** Sorted by their ids. */
  programs: NotedProgram[];
}

/**
 * Data of `signal.progress`: how far a call is, as whatever runs it says. Of several pieces of news the
 * newest counts.
 */
export interface ProgressSignal {
  callId: CallId;
  /** It grows; in what unit, whoever tells it knows. */
  progress: number;
  /** Of so much; missing = nobody knows. */
  total?: number | null;
  message?: string | null;
}

/** One of `{path}`, `{mimeType, data}` and `{server, uri}`. */
export interface PromptAttachment {
  /** A file of the run's workspace: absolute, or below its first folder. */
  path?: string | null;
  /** What `data` is, e.g. `image/png`. */
  mimeType?: string | null;
  /** In base64. */
  data?: string | null;
  /** An MCP server that can be used in the workspace. */
  server?: string | null;
  /** Of a resource of `server`, as `mcp/resources` lists them. */
  uri?: string | null;
}

/** A file that a run is told, without its text. */
export interface PromptFile {
  /** `memory`, or `import`: a file that one of these imports, whose size and digest are in that one's. */
  kind?: string;
  /** Absolute. */
  path?: string;
  /** The file that imports it, with `import`. */
  by?: string | null;
  /** Bytes of what is told of it, with what it imports. */
  bytes?: number;
  /** SHA-256 of that as the model reads it, as `sha256:<hex>`. Only traces of full content have it. */
  digest?: string;
}

export interface PromptRenderParams {
  agent: AgentName;
  /** As the next run of this session would be told. */
  sessionId?: SessionId | null;
  /** The folder of a new session; missing beside `sessionId`, and where there is no workspace. */
  workspace?: WorkspaceParam | null;
  /** Default: the agent's, else the setting `models.default`. Its key is not looked for. */
  model?: ModelRef | null;
  /** As a run is told that nobody answers. */
  headless?: boolean;
  /** Also answers `systemFile`. */
  withSystemFile?: boolean;
}

export interface PromptRenderResult {
  agent: AgentName;
  /** The system prompt. Inputs of the agent that nobody has given yet stand in it as `${name}`. */
  text: string;
  /** What the workspace says, in a message of the user before the history. */
  contextMessage?: string | null;
  /** In their order; those that are off among them. */
  parts: RenderedPart[];
  /** Of all of it, about. */
  tokens: number;
  /** What a run would warn of. */
  warnings?: string[];
  /**
   * The daemon's own modules as a file for the setting `prompt.systemFile`, which then says the same bytes.
   * Missing for an agent without them.
   */
  systemFile?: string | null;
}

/**
 * The sources of what a run is told before its first message. It keeps what it was told, whatever becomes of
 * the files.
 */
export interface PromptSources {
  systemPrompt?: SystemPromptSource;
  /**
   * The memory files that it is told, in their order, each with what it imports behind it; the first 64.
   * Files of sub-folders are told later, with the first call that comes there.
   */
  memory?: PromptFile[];
  /** The number of further ones. */
  moreMemory?: number;
  /** The skills that it begins with. */
  skills?: number;
}

/** A session that is removed. */
export interface PrunedSession {
  sessionId: SessionId;
  title?: string | null;
  lastActiveAt: Timestamp;
  /** Events in it. */
  events: number;
  /** Bytes of these, and of the outputs of tools that are kept for it. */
  bytes: number;
  reason: PruningReason;
}

/** The limit for which a session is removed. */
export type PruningReason =
  /** Nothing ran in it for longer than `retention.maxAgeDays`. */
  | "age"
  /** There are more sessions than `retention.maxSessions`. */
  | "count"
  /** They take more than `retention.maxBytes`. */
  | "bytes"
  | (string & {});

/**
 * A person's answer to one question, in the order of the questions: what was chosen, or a text of their own.
 */
export type QuestionAnswer = string | string[];

export interface QueueListParams {
  /** Missing = every session. */
  sessionId?: SessionId | null;
}

export interface QueueListResult {
  queue: QueuedRun[];
}

export interface QueueRunParams {
  runId: RunId;
}

export interface QueueRunResult {
  runId: RunId;
  /** The last event the request caused. */
  seq: EventSeq;
}

/**
 * The runs that had a context while another one waited for it: the first is the one that had it when that one
 * was asked for.
 */
export interface QueuedBehind {
  runId: RunId;
  agent: AgentName;
  /** The run that had it after that one. */
  then?: NextHolder | null;
  /** The number of further ones. */
  more?: number;
}

/** What a run waits for. */
export type QueuedFor =
  /** Another run of its agent in this session: they share a context, so one goes after the other. */
  | "context"
  /** One of the places for runs at work (`maxConcurrentRuns`). */
  | "place"
  /** Everything that hooks say to its prompt. */
  | "hooks"
  | (string & {});

/** A run that waits for its turn. */
export interface QueuedRun {
  runId: RunId;
  sessionId: SessionId;
  agent: AgentName;
  for: QueuedFor;
  /** The first user message. */
  query: string;
  /** The prompt as it was given; missing when only inputs were. */
  prompt?: string | null;
  queuedAt: Timestamp;
}

export interface ReloadResult {
  /**
   * Keys with another value than before. They count for whatever begins now; a run keeps what it began with.
   */
  changed: string[];
  /** Rule files that are new, gone, or other than they were; they count for each call from now on. */
  policies?: string[];
  /** Of the keys, what counts only when the daemon starts the next time. */
  needsRestart: string[];
  /**
   * What is wrong, with settings and rules. A value with a mistake keeps the one it had; a rule with a
   * mistake asks.
   */
  problems: FileProblem[];
  /**
   * Of the files of `problems` those in which nobody can tell which hooks there are: until each is mended, no
   * prompt and no tool call is accepted.
   */
  stoppedBy?: string[];
  /** Of the last event it caused, `config.changed` or `policy.changed`; missing when nothing changed. */
  seq?: EventSeq | null;
}

/** A part of what a run is told. */
export interface RenderedPart {
  /**
   * A module of the system prompt, or `systemFile`, `body`, `environment`, `skills`, `systemAppend`,
   * `folders`, `memory`, `skill`.
   */
  name: string;
  /** Where its words come from: a file, or who says them. */
  source: string;
  /** About. */
  tokens: number;
  /** The reason why it is not there. */
  off?: string | null;
}

/** A call that a reply asks for. */
export interface RequestedCall {
  callId: CallId;
  tool: ToolName;
  /** The arguments as JSON; missing when they have more than 4 KiB. The span of the call has them. */
  arguments?: string | null;
}

/** How a question ended. */
export interface Resolution {
  outcome: ConfirmationOutcome;
  by: DecidedBy;
  /** Who, when it was a client: its id, or the way by which the answer came. */
  name?: string | null;
  /** What whoever decided said. */
  message?: string | null;
  /** The rule that was written, or that decided. */
  rule?: PolicyRule | null;
  /** With an answer that holds for longer than its call: what it allows from now on, in plain words. */
  allows?: string | null;
  /** The session's mode from now on: with the grant `edits`. */
  mode?: ApprovalMode | null | string;
  /** The digest of the question that this ended. */
  digest: string;
  /**
   * SHA-256 of what came with the outcome (arguments, content, answers, message), as `sha256:<hex>`: the same
   * answer once more is known by it, and another one is not taken for it. Missing for answers to a tool's
   * question, which are no business of the log's: they could be guessed by it.
   */
  answerDigest?: string | null;
  /** In the event: when that happened. */
  at?: Timestamp | null;
}

/**
 * What a prepared call would touch. Policy judges these, never raw arguments; a permit covers exactly these.
 */
export type ResourceAccess =
  /** Reads one file, or everything below one folder. Absolute, symlinks resolved. */
  | {
    access: "read";
    path: string;
  }
  /** Creates, changes, moves or deletes one file, or everything below one folder. */
  | {
    access: "write";
    path: string;
  }
  /** Runs a command. */
  | {
    access: "execute";
    command: string;
  }
  /** Talks to another machine. */
  | {
    access: "fetch";
    url: string;
  }
  /** Someone else's code decides what is touched, e.g. an MCP server's. */
  | {
    access: "opaque";
    what: string;
  }
  /** Computes only. Said explicitly: a tool that lists no access is asked about, not allowed. */
  | {
    access: "nothing";
  };

/** A text that the model reads in place of the result of a call, since a hook replaced or withheld that. */
export interface ResultReplacement {
  /** The text, the first 4 KiB. It is empty where the model reads something that is no text. */
  text: string;
  /** Bytes of the whole text; missing when all of it stands here. */
  bytes?: number | null;
  /** The hook withheld the result: the text says so, and why. */
  withheld?: boolean;
}

/** The settings `retention.…` that are in force; those that are missing bound nothing. */
export interface RetentionLimits {
  maxAgeDays?: number | null;
  maxSessions?: number | null;
  maxBytes?: number | null;
}

/** The reason why a question changed. */
export type RevisionReason =
  /** A person changed what the call does. */
  | "modified"
  /** What the call would touch is not what was shown any more. */
  | "changed"
  /** A hook changed what a person had made of the call, who has not seen that yet. */
  | "changedByHook"
  /**
   * A hook wants a person to be asked about what one has made of the call, for a reason that nobody was told
   * before.
   */
  | "askedByHook"
  /** Nothing came of what a person had made of the call, as `reason` says; it is asked as it was. */
  | "editDropped"
  /** Only `deadlineAt`: somebody was there for a while. */
  | "deadline"
  | (string & {});

/** How much harm a call can do. Ordered, so that the highest part counts. */
export type Risk = "safe" | "low" | "medium" | "high" | "critical" | (string & {});

/** Data of `route.selected`. */
export interface RouteSelected {
  /** The run that begins with the next event of it. */
  runId: RunId;
  agent: AgentName;
  /** The trigger that fits; missing when none does, and the session's usual agent is taken. */
  trigger?: RoutingTrigger | null;
  /** Keywords as the file has them, or what the expression found. */
  matched?: string[];
  /** Other agents whose triggers fit, the best first. */
  runnersUp?: AlternativeRoute[];
}

/** Who said which model serves a run whose model is `auto`. */
export type RoutedBy =
  | "classifier"
  /** The classifier said nothing that counts. */
  | "default"
  | (string & {});

/** What makes a prompt one for this agent: any of the keywords, or else the expression. */
export interface RoutingTrigger {
  /** What such a prompt is about, for people. */
  intent?: string | null;
  /** Found without regard to case, where a word begins with one. */
  keywords?: string[];
  /** In the syntax of the `regex` crate; matched without regard to case. */
  regex?: string | null;
  /** The highest among those that fit decides. */
  priority?: number;
}

/** A request error, as it stands in a response. */
export interface RpcError {
  code: number;
  /** One line: what happened. */
  message: string;
  data: ErrorData;
}

/** The word that a rule goes back to which stands in no file. */
export interface RuleOrigin {
  source: RuleOriginSource;
  /** The client that answered, that started the root run, or that set the session's mode. */
  by?: string | null;
  /** The time of that answer, or when the mode was set. */
  at?: Timestamp | null;
}

/** The way in which somebody gave their word beforehand. */
export type RuleOriginSource =
  /** An earlier answer, which was remembered. */
  | "answer"
  /** `autoApprove` or the mode, as the root run was started. */
  | "start"
  /** `autoApprove` of the agent's file. */
  | "agent"
  /** The session's mode, as somebody set it. */
  | "session"
  /** The session's mode, which is the one of the settings. */
  | "settings"
  | (string & {});

/** The same, resolved; a run carries it, and the runs it calls inherit it. */
export interface RunApproval {
  headless?: boolean;
  /** Missing = the session's, as it is when a call is judged. */
  mode?: ApprovalMode | null | string;
  autoApprove?: Risk[];
  audience?: Audience | string | Record<string, unknown>;
  onDetached?: OnDetached;
  deadlineMs?: number | null;
  onDeadline?: OnDeadline;
  /** The client that started the root run. */
  initiator?: ClientId | null;
}

export interface RunCancelParams {
  runId: RunId;
  /** For people, kept in the log. */
  reason?: string | null;
}

export interface RunCancelResult {
  run: RunRecord;
  /** The last event the request caused; missing when it caused none. */
  seq?: EventSeq | null;
}

export interface RunCompleted {
  reason: RunEndReason;
  error?: RunError | null;
  /**
   * Why, in one sentence for people; of a cancelled run what whoever cancelled it said. Missing when it
   * reached its goal.
   */
  message?: string | null;
  result?: string | null;
  output?: unknown;
  /** What there was when a run ended without a result: the pending result, else the last text. */
  partialResult?: string | null;
  recovered?: boolean;
  recoveredFrom?: RunEndReason | null | string;
  usage: Usage;
  /** What the runs below it used. */
  childUsage?: Usage;
  /** What its own models cost, as far as their prices are known; missing when none is. */
  cost?: Cost | null;
  /** The same of the runs below it. */
  childCost?: Cost | null;
  /** Tokens of its own whose price nobody told. */
  unpricedTokens?: number;
  /** The same of the runs below it. */
  childUnpricedTokens?: number;
  /** Its requests of which the daemon estimated the tokens, or some of them. */
  estimatedRequests?: number;
  /**
   * Its requests of which nobody knows what they used, since they were cut off before anything had come of
   * them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedRequests?: number;
  /** The same of the runs below it. */
  childEstimatedRequests?: number;
  childUncountedRequests?: number;
  turns: number;
  toolCalls: number;
  filesChanged: string[];
  activeMs: number;
}

export interface RunCounts {
  queued: number;
  running: number;
  waiting: number;
  parked: number;
  ended: number;
}

/** What became of a request to run. */
export type RunDisposition =
  | "started"
  /** It waits for another run of its agent in this session. */
  | "queued"
  /** It was said to the living run, whose ids these are. */
  | "steered"
  | (string & {});

/** The reason why a run ended. */
export type RunEndReason = "GOAL" | "MAX_TURNS" | "TIMEOUT" | "ERROR_NO_COMPLETE_TASK_CALL" | "BUDGET" | "GUARDRAIL" | "LOOP_DETECTED" | "UNATTENDED" | "ABORTED" | "ERROR" | (string & {});

/** An error of a run, with a message fit for a person. */
export interface RunError {
  code: RunErrorCode;
  message: string;
}

/** What went wrong in a run that ended `ERROR`. */
export type RunErrorCode =
  | "MODEL_FAILED" | "PROVIDER_AUTH" | "CONTEXT_OVERFLOW" | "NO_SPACE_LEFT" | "CRASH_LOOP" | "PANIC" | "REPLAY_MISMATCH" | "REPLAY_EXHAUSTED"
  /** A root folder of the workspace is no longer there, so a restarted run cannot go on. */
  | "WORKSPACE_GONE"
  /** A hook said that the run is not to go on, or that its prompt is not to be worked on. */
  | "HOOK_STOPPED"
  | (string & {});

/** One execution of one agent. */
export type RunId = string;

export interface RunIdParams {
  runId: RunId;
}

/** Limits of one run, resolved. */
export interface RunLimits {
  maxTurns: number;
  /** Active time; missing = unlimited. */
  maxTimeMs?: number | null;
  /** Usage of the run and of all below it. */
  maxTokens?: number | null;
  /** In US dollars, by the run and all below it. */
  maxCost?: Cost | null;
  onBudget?: OnBudget;
  /** What the run above had left when it called this one, which asks for no more than that. */
  inherited?: BudgetLimits;
  graceMs: number;
  /** How deep below its root a run may stand; 0 = agents cannot be called as tools. */
  maxDepth?: number;
}

export interface RunListParams {
  sessionId?: SessionId | null;
  agent?: AgentName | null;
  state?: RunState | null;
  /** Only runs that have not ended. */
  active?: boolean;
  /** Only runs that nobody called as a tool. */
  roots?: boolean;
  /** Only runs that this one called. */
  parentRunId?: RunId | null;
  /** As `nextCursor` said. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface RunListResult {
  runs: RunRecord[];
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

export interface RunParked {
  reason: ParkReason;
}

export interface RunQueued {
  for: QueuedFor;
  /** It goes before every other that waits for the context. */
  front?: boolean;
  /** What `run.started` will say; set on the first event of a run that has not begun. */
  run?: RunStarted | null;
}

/** A run, as `run/get` and `run/wait` answer it and `subagent run --output-format json` prints it. */
export interface RunRecord {
  runId: RunId;
  sessionId: SessionId;
  contextId: ContextId;
  parentRunId?: RunId | null;
  /** The call of the parent run that this run answers. */
  parentCallId?: CallId | null;
  /** 0 for a root run. */
  depth?: number;
  agent: AgentName;
  /** SHA-256 of the definition the run carries, as `sha256:<hex>`. */
  digest: string;
  /** The model that was asked for, resolved. */
  model: string;
  /** The prompt as it was given; missing when only inputs were, and on a run that another called. */
  prompt?: string | null;
  state: RunState;
  /** Set when `state` is `ended`. */
  reason?: RunEndReason | null | string;
  error?: RunError | null;
  /**
   * The reason why it ended, in one sentence for people; of a cancelled run what whoever cancelled it said.
   * Missing when it reached its goal.
   */
  message?: string | null;
  /** The result as text, formatted as the agent's `output` says. */
  result?: string | null;
  /** The typed result, for an agent with `output`. */
  output?: unknown;
  /** What there was when a run ended without a result. */
  partialResult?: string | null;
  /** The grace turn saved the run. */
  recovered?: boolean;
  recoveredFrom?: RunEndReason | null | string;
  usage: Usage;
  /** What its own models cost so far, by `models.prices`; missing when none of their prices is known. */
  cost?: Cost | null;
  /** Tokens of these whose price nobody told. */
  unpricedTokens?: number;
  /** Requests of its own of which the daemon estimated the tokens, or some of them. */
  estimatedRequests?: number;
  /**
   * Requests of its own of which nobody knows what they used, since they were cut off before anything had
   * come of them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedRequests?: number;
  /** What the runs below it used and cost; set when it has ended. */
  childUsage?: Usage | null;
  childCost?: Cost | null;
  /** Requests of the runs below it. */
  childEstimatedRequests?: number;
  childUncountedRequests?: number;
  turns: number;
  toolCalls: number;
  /** Paths that the run changed; not those that it wrote with the content that they had. */
  filesChanged: string[];
  /** When it began; while it waits in a queue, when it was asked for. */
  startedAt: Timestamp;
  endedAt?: Timestamp | null;
  activeMs: number;
}

export interface RunResumed {
  /** The daemon did not stop by itself: it crashed, was killed, or the machine went down. */
  unclean: boolean;
  /**
   * The most of the time before this in which there may have been no daemon; missing when nobody knows, or
   * there was one.
   */
  awayMs?: number | null;
}

/** What a run's daemon does beside its turns, as settings and agent said when it began. */
export interface RunSafeguards {
  /** The context is compressed when a prompt takes this part of the window; missing = not by itself. */
  compressAt?: number | null;
  /** The model that summarises; missing = the run's own. */
  summariser?: NamedModel | null;
  /** The model for small questions; missing = they are not asked. */
  small?: NamedModel | null;
  /** The models that take over when the run's own cannot go on, in that order. */
  fallback?: NamedModel[];
  /** The run's model is chosen of these by what is asked for. */
  auto?: ModelTiers | null;
  /** What the alias of the run's own model says of sampling, else its provider's entry. */
  sampling?: SamplingSettings;
  loopCalls?: boolean;
  loopText?: boolean;
  loopJudge?: boolean;
  nextSpeaker?: boolean;
}

/** Fields that only runs have. */
export interface RunSpan {
  model?: string;
  /** The run that called it, and its call. */
  parentRunId?: RunId | null;
  parentCallId?: CallId | null;
  /** The message that its model reads first, where an agent's file makes that of what was asked. */
  query?: SpanText | null;
  /** The sources of what it was told before its first message. Missing in logs of earlier versions. */
  promptSources?: PromptSources | null;
  /** The end reason, as in the run's record. */
  reason?: string | null;
  message?: string | null;
  /** Turns; of a run that has not ended, as of what the log told of it last, as are its calls and times. */
  turns?: number;
  toolCalls?: number;
  /** Time at work, or waiting for a model or a tool. */
  activeMs?: number;
  /** Time in queues: for its context, or for one of the slots that runs share. */
  queuedMs?: number;
  /**
   * The runs that had its context while it waited for that, from the one that had it when it was asked for.
   */
  queuedBehind?: QueuedBehind | null;
  /** The runs that were moved ahead of it while it waited for its context; the first 100. */
  movedAhead?: MovedAhead[];
  /** Time before it began in which hooks were asked about its prompt. */
  hooksMs?: number;
  /** Time during which every open call waited for a person. */
  waitingMs?: number;
  /** The part of `downMs` that fell into a wait for people: `waitingMs` may be too short by as much. */
  waitingDownMs?: number;
  /** Time during which it was parked. */
  parkedMs?: number;
  /** The client that asked for it, and the one that stopped it, if one did. */
  startedBy?: string | null;
  stoppedBy?: string | null;
  /**
   * The most of its time in which there may have been no daemon: from what the log tells last before each
   * restart until then.
   */
  downMs?: number;
  /** The number of times that a daemon took it up again. */
  restarts?: number;
  /** Those of them before which the daemon had not stopped by itself. */
  uncleanRestarts?: number;
  /** The thing that it waits for; of a run that has not ended. */
  waitsFor?: WaitCause | null;
  /** The time of the last that the log tells of it; of a run that has not ended. */
  lastEventAt?: Timestamp | null;
  /** Paths that it changed, not those that it wrote with the content that they had; the first 100. */
  filesChanged?: string[];
  /** Commands that it ran; which files those changed is not known. */
  commands?: number;
  /** Its calls that other runs answered. Files that these changed are theirs. */
  calledRuns?: number;
  /** Tokens of the runs below it. */
  childUsage?: Usage | null;
  childCost?: Cost | null;
  /** Tokens of its own, and of the runs below it, whose price nobody told; once it has ended. */
  unpricedTokens?: number;
  childUnpricedTokens?: number;
  /** Its requests of which the daemon estimated the tokens, or some of them. */
  estimatedRequests?: number;
  /**
   * Its requests of which nobody knows what they used, since they were cut off before anything had come of
   * them, or as the daemon ended. They may have cost something; `usage` and `cost` are without them.
   */
  uncountedRequests?: number;
  /** The same of the runs below it, once it has ended. */
  childEstimatedRequests?: number;
  childUncountedRequests?: number;
}

export interface RunStartParams {
  /** Goes on in this session, with what its agent remembers there. Missing = a new session in `workspace`. */
  sessionId?: SessionId | null;
  /**
   * Where the agent works: the boundary of its file tools. Needed without `sessionId`; with it, the session's
   * own.
   */
  workspace?: WorkspaceParam | null;
  /**
   * Missing = the session's, else the daemon's default (setting `agents.default`). `auto` = the one whose
   * trigger fits the prompt.
   */
  agent?: AgentName | null;
  /**
   * Instead of `agent`: an agent that lies in no file. Fields of the front matter, as `agent.schema.json` has
   * them, and `prompt`, the text below it.
   */
  definition?: Record<string, unknown> | null;
  /** The value of the input `prompt`. */
  prompt?: string | null;
  /** Instead of `prompt`: what this prompt of an MCP server says, with what it brings along attached. */
  serverPrompt?: ServerPrompt | null;
  /** Values of the agent's inputs by name. */
  inputs?: Record<string, unknown>;
  /** What its model gets with the first message. Not beside `ifBusy: "steer"`. */
  attachments?: PromptAttachment[];
  /**
   * Skills that its model is given before the first message, by name, beside those of the agent's file; at
   * most 32.
   */
  skills?: string[];
  limits?: LimitsParams;
  /** How its questions, and those of the runs it calls, are put. */
  approval?: ApprovalParams;
  /** Instead of the agent's model. */
  model?: ModelRef | null;
  /**
   * An absolute path on the daemon's machine: a new file there, or an empty one, gets every reply of its
   * model and of those of the runs that it calls, without secrets, as lines that the model `replay:FILE`
   * plays. Not used when the prompt is said to the living run.
   */
  record?: string | null;
  /**
   * The span that the run is part of, as W3C Trace Context writes it: `00-<trace>-<span>-<flags>`. It is told
   * to the commands and MCP servers that the run uses, and exported. What is none is ignored, with a warning.
   * By HTTP the header `traceparent` says the same.
   */
  traceparent?: string | null;
  /** When a run of this agent lives in the session already. */
  ifBusy?: IfBusy;
  idempotencyKey?: IdempotencyKey | null;
}

export interface RunStartResult {
  disposition: RunDisposition;
  runId: RunId;
  sessionId: SessionId;
  agent: AgentName;
  /** The living run that is cancelled for this one (`ifBusy: "interrupt"`). */
  interrupts?: RunId | null;
  /**
   * The reason why it is this agent, of a request for `auto`; missing on a prompt that was said to the living
   * run.
   */
  routed?: AgentRoute | null;
  /** The last event the request caused. Attach with `from` one below the first to see it all, or `start`. */
  seq: EventSeq;
  /** This is the answer to an earlier request with the same `idempotencyKey`. */
  replayed?: boolean;
}

export interface RunStarted {
  agent: AgentName;
  title: string;
  /** SHA-256 of the definition the run carries, as `sha256:<hex>`. */
  digest: string;
  model: string;
  contextId: ContextId;
  /** The first user message, templates filled. */
  query: string;
  /** The prompt as it was given; missing when only inputs were, and on a run that another called. */
  prompt?: string | null;
  /** Values of the agent's inputs, defaults filled in. */
  inputs: unknown;
  limits: RunLimits;
  completion: CompletionMode;
  /** How its questions are put. */
  approval?: RunApproval;
  /** 0 for a root run. */
  depth: number;
  /** The call of the parent run that this run answers. */
  parentCallId?: CallId | null;
  /** The run at the root of the tree; missing on the root itself. */
  rootRunId?: RunId | null;
  /**
   * Which run of the tree: each agent's name with the number of its call within the caller, from the root on,
   * e.g. `lead#1/reader#2`. The same every time the same things happen.
   */
  path?: string;
  /** The span that the root run is part of, as whoever started it said. */
  traceparent?: TraceContext | null;
  /** What the run is for. */
  task?: RunTask;
  /** Tokens that fit the model; missing = unknown to the daemon that wrote this. */
  contextWindow?: number | null;
  /** What is done beside the turns. */
  safeguards?: RunSafeguards;
  /** Destinations of its spans. */
  tracing?: RunTracing;
  /** The sources of what it is told before its first message. Missing in events of earlier versions. */
  promptSources?: PromptSources | null;
}

/** Where a run stands. */
export type RunState = "queued" | "running" | "waiting" | "parked" | "ended" | (string & {});

export interface RunSteerParams {
  runId: RunId;
  text: string;
  idempotencyKey?: IdempotencyKey | null;
}

export interface RunSteerResult {
  runId: RunId;
  /** The event that says the message is kept. */
  seq: EventSeq;
  /** This is the answer to an earlier request with the same `idempotencyKey`. */
  replayed?: boolean;
}

export interface RunSteered {
  /** Names the message. */
  steerId: string;
  text: string;
  /** Missing on the first event of a message; set on the second: the turn that began with it. */
  turn?: number | null;
}

export interface RunStopping {
  reason: RunEndReason;
  then: StopThen;
  /** Set when the reason is `ERROR`. */
  error?: RunError | null;
  /** One sentence for people. */
  message: string;
}

/** What a run is for. */
export type RunTask =
  /** What its agent is for. */
  | "work"
  /** To compress the context (`session/compact`). */
  | "compact"
  /** To let the context begin anew (`session/clear`). */
  | "clear"
  | (string & {});

/** Data of `run.toolsChanged`: which of the run's tools are other ones from its next model call on. */
export interface RunToolsChanged {
  added?: ToolName[];
  removed?: ToolName[];
  /** The same names with another description, other parameters or another risk. */
  changed?: ToolName[];
}

/**
 * Destinations of the spans of a run beside the daemon's own database, and what goes there, as agent and
 * settings said.
 */
export interface RunTracing {
  /** Empty = nowhere. */
  backends?: TraceBackend[];
  /** Missing = all kinds. */
  events?: TracedEvents[] | null;
  content?: TraceContent;
  /** The part of all traces whose texts go with them, from 0 to 1. */
  sampleRate?: number;
}

export interface RunWaitParams {
  runId: RunId;
  /** At most 600,000; longer waits are repeated. */
  timeoutMs: number;
  /** What to wait for, whichever comes first. Missing = the end. */
  until?: WaitUntil[];
}

export interface RunWaitResult {
  run: RunRecord;
  /** The run has ended. */
  done: boolean;
  /** Its open questions, and those of the runs below it. */
  confirmations?: ConfirmationRecord[];
}

/**
 * Data of `run.waiting`: whether every open call of the run waits for a person, directly or through a run it
 * called.
 */
export interface RunWaiting {
  waiting: boolean;
}

/** Sampling settings; a missing one is the provider's default. */
export interface SamplingSettings {
  temperature?: number | null;
  topP?: number | null;
  maxOutputTokens?: number | null;
  /** Tokens; -1 = unlimited, 0 = off. */
  thinkingBudget?: number | null;
}

/** What a command may touch. Ordered from the closest on. */
export type SandboxProfile =
  /** Only its temporary folder can be written. */
  | "readOnly"
  /** The workspace, too. */
  | "workspaceWrite"
  /** No sandbox: everything that the daemon's user may touch. */
  | "full"
  | (string & {});

/** What confines the commands of agents; `daemon/doctor` proves it by trying. */
export interface SandboxStatus {
  /** `bubblewrap`, `Landlock` or `none`. */
  mechanism: string;
  profile: SandboxProfile;
  network: boolean;
}

/** One broken rule of a schema. */
export interface SchemaViolation {
  /** JSON pointer to the offending value; empty = the whole. */
  pointer: string;
  message: string;
}

/** A prompt that an MCP server has. */
export interface ServerPrompt {
  /** An MCP server that can be used in the workspace. */
  server: string;
  /** As `mcp/prompts` lists it. */
  name: string;
  arguments?: Record<string, string>;
}

export interface SessionAttachParams {
  /** A session, or `"*"`: every session, also those that are created later. */
  sessionId: SessionId;
  /** A `seq` (exclusive), `"now"`, `"start"`, or `"consumer"`: after what `consumer` has acknowledged. */
  from?: AttachFrom;
  /** With a `seq`: the log it came from, as `daemon.logId` said. Of another log it is `CURSOR_GONE`. */
  logId?: string | null;
  /** As in `events/subscribe`. */
  consumer?: string | null;
  /** What comes of a cursor that is gone. Missing = `error`. */
  onGone?: GoneCursorPolicy;
  /** What the client is there for. Missing = `control`. */
  role?: AttachRole;
  /** Text while it is being written. */
  deltas?: boolean;
}

export interface SessionChangeResult {
  sessionId: SessionId;
  /** The last event the request caused; missing when nothing had to change. */
  seq?: EventSeq | null;
}

export interface SessionClearResult {
  sessionId: SessionId;
  /** Oldest first. */
  contexts: ContextClear[];
}

export type SessionClosed = Record<string, unknown>;

export interface SessionCompactResult {
  sessionId: SessionId;
  /** Oldest first. */
  contexts: ContextCompacted[];
}

/** A context of a session, with what is in it. */
export interface SessionContext {
  contextId: ContextId;
  sessionId: SessionId;
  agent: AgentName;
  /** The run that the context belongs to alone, when an agent was called as a tool. */
  parentRunId?: RunId | null;
  startedAt: Timestamp;
  lastActiveAt: Timestamp;
  /** How often what its model reads was replaced: by a summary, or by nothing. */
  epoch?: number;
  /** Of its last prompt, instructions and tools included; 0 = unknown. */
  tokens?: number;
  /** Messages that `session/history` has of it, of every epoch. */
  messages?: number;
  /** Missing where no run is known of it. */
  metadata?: ContextMetadata | null;
}

export interface SessionContextParams {
  sessionId: SessionId;
  /** Whose context; missing = all of the session, but those of agents that others called. */
  agent?: AgentName | null;
}

export interface SessionCreateParams {
  workspace: WorkspaceParam;
  /** The agent of runs that name none. */
  agent?: AgentName | null;
  title?: string | null;
  /** How freely calls run where no rule speaks. Missing = setting `approval.mode`. */
  mode?: ApprovalMode | null;
  /** Everything is removed when the session is closed. */
  ephemeral?: boolean;
  idempotencyKey?: IdempotencyKey | null;
}

export interface SessionCreateResult {
  sessionId: SessionId;
  seq: EventSeq;
  /** This is the answer to an earlier request with the same `idempotencyKey`. */
  replayed?: boolean;
}

export interface SessionCreated {
  /** Absolute; the first is where relative paths begin. */
  roots: string[];
  title?: string | null;
  /** The agent of runs that name none. */
  agent?: AgentName | null;
  /** How freely calls run where no rule speaks. */
  mode?: ApprovalMode;
  /** Everything is removed when the session is closed. */
  ephemeral?: boolean;
  /** The mode is the one of the settings: nobody named another. */
  modeOfSettings?: boolean;
}

export interface SessionDeleteResult {
  sessionId: SessionId;
  seq: EventSeq;
  /** Events that were removed. */
  events: number;
}

export interface SessionDeleted {
  /** Events that were removed with it. */
  events: number;
  /**
   * The newest of them: who had read up to there has missed nothing. Missing when there were none, and on
   * what older versions wrote.
   */
  lastSeq?: EventSeq | null;
  /** The limit of the settings `retention` that it was removed for; missing when somebody removed it. */
  pruned?: PruningReason | null | string;
}

export interface SessionDetachParams {
  subscription: SubscriptionId;
}

export interface SessionGetResult {
  session: SessionSummary;
  /** Oldest first. */
  contexts: SessionContext[];
  /** What the system prompts of its later root runs end with. */
  systemAppend?: string | null;
}

export interface SessionHistoryParams {
  sessionId: SessionId;
  /** Whose context; missing = the session's agent, or the only one there is. */
  agent?: AgentName | null;
  /** The context of this run instead, e.g. of one that another called. */
  runId?: RunId | null;
  /** As `nextCursor` said. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface SessionHistoryResult {
  agent: AgentName;
  /** Oldest first. */
  messages: HistoryMessage[];
  /**
   * Where the context was compressed or cleared, oldest first: after the messages of the page before and
   * before those of the next. At most 1,000.
   */
  changes?: ContextChange[];
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/** A session: a workspace and the contexts and runs in it. */
export type SessionId = string;

export interface SessionIdParams {
  sessionId: SessionId;
}

export interface SessionListParams {
  /** Only sessions of exactly this workspace. */
  workspace?: WorkspaceParam | null;
  state?: SessionState | null;
  /** Only sessions whose title or folder contains this text, whatever the letter case. */
  query?: string | null;
  /** As `nextCursor` said. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface SessionListResult {
  sessions: SessionSummary[];
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/** Whether a session takes work. */
export type SessionState = "open" | "closed" | (string & {});

/** A session, as snapshots and lists show it. */
export interface SessionSummary {
  sessionId: SessionId;
  roots: string[];
  title?: string | null;
  /** The agent of runs that name none. */
  agent?: AgentName | null;
  state?: SessionState;
  /** How freely calls run where no rule speaks. */
  mode?: ApprovalMode;
  /** Everything is removed when it is closed. */
  ephemeral?: boolean;
  createdAt: Timestamp;
  lastActiveAt: Timestamp;
}

/** One of `toCallId` and `lastTurn` is given. */
export interface SessionUndoParams {
  sessionId: SessionId;
  /** Undoes everything from this call on, newest first. */
  toCallId?: CallId | null;
  /** Undoes what the last turn that changed files changed. */
  lastTurn?: boolean;
  /** Also where somebody changed the file since. */
  force?: boolean;
}

export interface SessionUndoResult {
  sessionId: SessionId;
  /** Newest first. */
  restored: FileRestored[];
  /** Calls among those undone whose effects cannot be taken back, and why. */
  notRestorable: NotRestorable[];
  /** The last event the request caused; missing when there was nothing to undo. */
  seq?: EventSeq | null;
}

/** A field that is missing stays as it is; `null` clears it. */
export interface SessionUpdateParams {
  sessionId: SessionId;
  title?: string | null;
  agent?: AgentName | null;
  /**
   * Counts from the next call on, also of runs that live; of those that were started in a mode of their own
   * only `plan`.
   */
  mode?: ApprovalMode | null;
  /**
   * What the system prompts of later root runs end with, at most 32 KiB. Runs called by others do not have
   * it.
   */
  systemAppend?: string | null;
}

export interface SessionUpdated {
  title?: string | null;
  agent?: AgentName | null;
  mode?: ApprovalMode;
  /** What the system prompts of its later root runs end with. */
  systemAppend?: string | null;
}

export interface SetLogLevelParams {
  /**
   * `off`, `error`, `warn`, `info`, `debug` or `trace`; or directives for parts of the daemon, e.g.
   * `info,subagentd_run=debug`.
   */
  level: string;
}

export interface SetLogLevelResult {
  /** What is logged from now on, until the daemon ends. */
  level: string;
  /** What was logged until now. */
  before: string;
}

/** Which layer of settings a value comes from; later ones win. */
export type SettingOrigin =
  /** Nobody set it. */
  | "default"
  /** The system's file. */
  | "system"
  /** The user's file. */
  | "user"
  /** A variable of the daemon's environment. */
  | "environment"
  /** The daemon's command line. */
  | "flag"
  | (string & {});

/** A setting that is in force, and where it was set. */
export interface SettingValue {
  /** With dots. Each entry of `providers` is a key of its own. */
  key: string;
  /**
   * As a settings file would say it, with secrets taken out. `null` for what has no value, and for a provider
   * whose settings have mistakes.
   */
  value: unknown;
  origin: SettingOrigin;
  /** The file that says so. */
  file?: string | null;
  /** Of the value in the file; 1-based. */
  line?: number | null;
  /** 1-based, in characters. */
  column?: number | null;
  /** The variable of the environment that says so. */
  variable?: string | null;
  /** The flag of the daemon's command line that says so. */
  flag?: string | null;
}

export interface ShutdownResult {
  /** Runs that will go on at the next start. */
  suspendedRuns: number;
}

export interface SideCallCompleted {
  purpose: SideCallPurpose;
  /**
   * Of a question that a tool asked: its call, with whose end this is told. No `sideCall.started` came
   * before.
   */
  callId?: CallId | null;
  model: string;
  usage: Usage;
  /**
   * The provider did not say what the answer took, or not all of it as the answer was cut off: `usage` is the
   * daemon's estimate.
   */
  estimated?: boolean;
  /**
   * A request was cut off before anything had come of it: `usage` is without it, and nobody knows what it
   * cost.
   */
  usageUnknown?: boolean;
  /**
   * Nobody waited for the answer any more: the run was stopped, or came to its end, or asks the same once
   * more after a restart.
   */
  abandoned?: boolean;
  /** Missing when nobody told the model's price, or `usageUnknown` says that nothing was counted. */
  cost?: Cost | null;
  /** What it answered, whole. */
  text?: string;
  /** Of a loop check: how sure the model is that the run goes round in circles, 0 to 1. */
  confidence?: number | null;
  /** The reason why there is no answer that counts; nothing came of it then. */
  error?: string | null;
  /**
   * The time of the request, and how long it took: only where a tool or a hook asked or it was given up, and
   * not in events of earlier versions.
   */
  askedAt?: Timestamp | null;
  durationMs?: number | null;
  /** The firing and the id of the hook that asked, as in the `hook.fired` that follows. */
  firingId?: string | null;
  hookId?: string | null;
}

/** What a model is asked for by the daemon itself. */
export type SideCallPurpose =
  /** A summary of a history that got too long, and a second look at it. */
  | "compression"
  /** Whether a run goes round in circles. */
  | "loopCheck"
  /** Whether the model has said all that it wanted. */
  | "nextSpeaker"
  /** Which model fits what was asked for. */
  | "routing"
  /** What pages of the web say that a call of `web_fetch` was asked about. */
  | "webFetch"
  /** What a provider finds on the web for a call of `web_search`. */
  | "webSearch"
  /** What a server asks that is at a call, and a person has allowed. */
  | "mcpSampling"
  /** Everything that a hook asks about an event. */
  | "hook"
  | (string & {});

export interface SideCallStarted {
  purpose: SideCallPurpose;
  /** Missing where none is needed. */
  model?: string | null;
  /** Of a compression: it was asked for, or there is no other way to go on. */
  forced?: boolean;
  /** Of a compression: no summary, but tool outputs are cut, all but the ends of them. */
  outputsOnly?: boolean;
}

/** Data of `skill.activated`. */
export interface SkillActivated {
  /** The call by which its model asked for it; missing where the run was begun with it. */
  callId?: CallId | null;
  name: string;
  /** Tools may read what lies there from now on, and never write it. */
  folder: string;
  /** The name of its file in that folder: `SKILL.md`. Missing in events of earlier versions. */
  file?: string | null;
  /** Over the bytes of that file, as the model was given them. Missing in events of earlier versions. */
  fileDigest?: string | null;
  /** Over path, mode and bytes of all its files, of one that a workspace brings along. */
  digest?: string | null;
  /** The extension that brings it along; `digest` is of the bytes of its `SKILL.md` then. */
  extension?: ExtensionRef | null;
}

/** The owner of a skill. */
export type SkillScope =
  | "project" | "user"
  /** An extension brings it along. */
  | "extension"
  | (string & {});

/** A skill's state: can it be used? */
export type SkillStateName =
  | "ready"
  /** The setting `skills.disabled` names it. */
  | "disabled"
  /** The workspace brings it along, and nobody has acknowledged it. */
  | "untrusted"
  /** It was acknowledged, and is another one since. */
  | "changed"
  /** One of the same name goes before it. */
  | "hidden"
  /** It has errors. */
  | "rejected"
  | (string & {});

/** A skill, in one line. */
export interface SkillSummary {
  name: string;
  /** Empty for one that has errors. In a list it may be shortened, which `…` at its end says. */
  description: string;
  /** The folder that it lies in. */
  folder: string;
  scope: SkillScope;
  /** The extension that brings it along. */
  extension?: ExtensionRef | null;
  state: SkillStateName;
  /** The folder of the one of the same name that goes before it. */
  hiddenBy?: string | null;
  /** Models are not told of it: its file says `disable-model-invocation`. */
  onlyByName?: boolean;
  /** Models are not told of it: there was no room among the others. */
  omitted?: boolean;
  /** It has errors, whatever its state is; `skills/get` tells them. */
  hasErrors?: boolean;
  /**
   * The reason why nobody can acknowledge it as it is: the end of a sentence that begins with the skill.
   * `skills/get` tells it of each skill of a workspace, `skills/list` of those that were acknowledged before.
   */
  fault?: string | null;
}

export interface SkillsGetParams {
  /** The skill of this name that counts, or the first of them if none does. Not needed beside `folder`. */
  name?: string | null;
  /**
   * The one that lies in this folder, absolute: also one that another one of its name goes before, or that
   * nobody has acknowledged.
   */
  folder?: string | null;
  /** The workspace in which it is looked for. Missing = the user's alone. */
  workspace?: WorkspaceParam | null;
}

export interface SkillsGetResult {
  skill: SkillSummary;
  /** The others of its name, at most 20. */
  others?: SkillSummary[];
  /** The text without front matter, as it was found. */
  body: string;
  license?: string | null;
  compatibility?: string | null;
  /** `allowed-tools` of the file; it neither gives nor takes a tool. */
  allowedTools?: string | null;
  /** `metadata` of the file. */
  metadata?: unknown;
  /** Its other files, below its folder; at most 100, and fewer with long names. */
  files: string[];
  /** The number of all of them. */
  fileCount: number;
  /** Problems with its file. */
  problems?: FileProblem[];
}

export interface SkillsListParams {
  /** The workspace in which they are looked for. Missing = the user's alone. */
  workspace?: WorkspaceParam | null;
}

export interface SkillsListResult {
  /** All of them in the order of precedence, those that do not count included. */
  skills: SkillSummary[];
  /** Problems with the places that they lie in. */
  problems?: FileProblem[];
  /** The number of those for which the answer had no room. Skills that cannot be used are left out first. */
  omitted?: number;
}

export interface SkillsSetEnabledParams {
  name: string;
  enabled: boolean;
  /** The workspace that one which is switched off lies in, if not among the user's. */
  workspace?: WorkspaceParam | null;
}

export interface SkillsSetEnabledResult {
  name: string;
  enabled: boolean;
  /** The settings file that says so. */
  path: string;
  /** Reasons why it has no effect as it is, or may not be what was meant. */
  warnings?: string[];
  /** The event that tells of it; missing where the settings said so already. */
  seq?: EventSeq | null;
}

export interface SkillsValidateParams {
  /** The folder of a skill on the daemon's machine, absolute. */
  path: string;
}

export interface SkillsValidateResult {
  /** The file; the folder where it has none. */
  path: string;
  /** Nothing in it is against the published rules. */
  valid: boolean;
  /** An error is against the rules; a warning is odd otherwise. */
  problems: FileProblem[];
}

/**
 * Data of `signal.snapshot`: what is as of `seq`; the first event after it has `prev` = `seq`. Of one
 * session: the session, its live runs and its newest others. Of several or all: what lives, and nothing that
 * is over.
 */
export interface Snapshot {
  seq: EventSeq;
  /** Of a subscription to one session. */
  session?: SessionSummary | null;
  /** Of a subscription to several or all: those of the runs. */
  sessions?: SessionSummary[];
  runs: RunRecord[];
  /** How many runs live, when they are more than `runs` has; the newest are shown, `run/list` has all. */
  liveRuns?: number | null;
  /** Texts being streamed, with what there is of them so far; of much text the rest comes as deltas. */
  openItems: OpenStreamText[];
  /** Calls that have not ended, of the runs that live. */
  openCalls?: OpenToolCall[];
  /** Questions that wait for a person, oldest first, at most 256; `confirmation/list` has all. */
  openConfirmations?: ConfirmationRecord[];
  /** Runs that wait for their turn in a context, the next one first. */
  queue?: QueuedRun[];
}

/** The error that a span ended with. */
export interface SpanError {
  /**
   * The type as the event has it: an error type of a tool, a code or the reason of a run's end; of a model
   * `MODEL_FAILED`.
   */
  type: string;
  message: string;
}

/** Something that happened at a moment of a span. */
export interface SpanEvent {
  /** The type of the event in the log. */
  name: string;
  at: Timestamp;
  atUs: number;
  /** The gist of it in one line. */
  text?: string;
}

/** A file that a call changed. */
export interface SpanFileChange {
  path: string;
  /**
   * `created`, `modified`, `deleted`, `moved`; `unchanged` where it was written with the content that it had.
   */
  change: string;
  /** Names what `session/undo` puts back. */
  undoId: string;
  /**
   * The change was undone after that. What is sent to collectors and written to files does not have it: the
   * call's span has ended by then.
   */
  undone?: UndoneChange | null;
}

/** One span of a trace: 16 hexadecimal digits, the `seq` of the event that began it. */
export type SpanId = string;

/** The kinds of spans. */
export type SpanKind =
  /** One execution of an agent, from when it was asked for. */
  | "run"
  /** One request to a model, with the calls that its reply asks for. */
  | "turn"
  /** A request to a model: of a turn, or one of the daemon's own, which has a `purpose`. */
  | "llm"
  /** A tool call, from when the model asked for it. Its `tool` says how long it waited until it ran. */
  | "tool"
  /** A question to a person, until it was over. */
  | "confirmation"
  /** A history that was replaced by a summary. */
  | "compression"
  /**
   * A hook that was asked or told something: several lie beside each other. One that is at work for less than
   * a second is told when it has ended.
   */
  | "hook"
  /** A request to an MCP server, within the call that it is for. */
  | "mcp"
  | (string & {});

/** The status of a span. */
export type SpanStatus =
  | "ok" | "error"
  /** It goes on. */
  | "open"
  /** It was cut off: by a stop, or by the end of the daemon. */
  | "cancelled"
  | (string & {});

/** A text of at most 16 KiB. */
export interface SpanText {
  text: string;
  /**
   * Bytes of the whole, when this is only its beginning. The event under the span's id, or the one of its
   * end, has the rest.
   */
  bytes?: number | null;
}

/** What follows when every open call has ended. */
export type StopThen =
  | "end"
  /** One last turn in which only `complete_task` is offered. */
  | "grace"
  /** A person is asked whether the run may use more. */
  | "ask"
  | (string & {});

/** Data of `model.textDelta` and `model.thoughtDelta`: more of an open text. Not stored. */
export interface StreamDelta {
  /** As in `model.started`. */
  stream: string;
  /** The event that opened the stream. */
  afterSeq: EventSeq;
  /** UTF-8 bytes of this stream before this delta. */
  offset: number;
  text: string;
}

/** What observers of subagents care about; what belongs to it stands in `data`. */
export type SubagentActivity = "TOOL_CALL_START" | "TOOL_CALL_END" | "THOUGHT_CHUNK" | "ERROR" | (string & {});

/** One subscription of one connection. */
export type SubscriptionId = string;

/** The system prompt of a run, without its text. */
export interface SystemPromptSource {
  /** `modules`: the daemon's own. `file`: a file in their place. `agent`: neither. */
  source?: string;
  /** That file. */
  path?: string | null;
  bytes?: number;
  /** The text of the agent's own file stands in it, too, with `modules` and `file`. */
  hasAgentText?: boolean;
  /** It ends with the `systemAppend` of the session. */
  hasSystemAppend?: boolean;
  /** SHA-256 of it as the model reads it, as `sha256:<hex>`. Only traces of full content have it. */
  digest?: string;
}

/** What agents are made from. */
export interface TemplateSummary {
  name: string;
  title: string;
  description?: string | null;
  /** Missing for built-in ones. */
  path?: string | null;
  /** The whole file. */
  text: string;
}

/** A number of things that take time. */
export interface TimedCount {
  count?: number;
  /** The number of them that ended with an error. */
  failed?: number;
  /**
   * Microseconds that half of them did not exceed, to the next bound of a histogram; missing when there were
   * none.
   */
  p50Us?: number | null;
  /** The same of all but one of a hundred. */
  p99Us?: number | null;
}

/** RFC 3339, UTC, with milliseconds. */
export type Timestamp = string;

/** One entry of a run's plan. */
export interface TodoItem {
  text: string;
  status: TodoStatus;
}

/** How far an entry is. At most one of a list is in progress. */
export type TodoStatus =
  | "pending" | "in_progress" | "completed"
  /** Given up. */
  | "cancelled"
  | (string & {});

export interface TodosUpdated {
  /** The call of `write_todos`. */
  callId: CallId;
  /** The whole list; empty when there is no plan any more. */
  todos: TodoItem[];
}

/** A model's wish to use a tool. */
export interface ToolCall {
  callId: CallId;
  /** The provider's own id; may be missing or repeated. */
  providerCallId?: string | null;
  /** As the model wrote it; the registry maps aliases. */
  name: ToolName;
  /** As the model wrote them, but for secrets. */
  arguments: unknown;
  signature?: string | null;
  /**
   * The arguments held a secret. What stands in its place is not what the model meant, so the call cannot be
   * prepared from here.
   */
  redacted?: boolean;
}

export interface ToolClientCall {
  callId: CallId;
  /** The client that lends the tool. */
  clientId: ClientId;
  name: ToolName;
  /** They fit the tool's parameters. */
  arguments: unknown;
  onDisconnect: OnDisconnect;
  /** How long the client may take. */
  timeoutMs: number;
  /** It was told before. */
  redelivered?: boolean;
}

/** The reason why a call failed: data for the model and for people, not a request error. */
export interface ToolError {
  type: ToolErrorType;
  message: string;
}

/** Tool error types, spelled like this on the wire. */
export type ToolErrorType = "INVALID_TOOL_PARAMS" | "UNKNOWN" | "UNHANDLED_EXCEPTION" | "TOOL_NOT_REGISTERED" | "TOOL_NOT_ALLOWED" | "WORKSPACE_NOT_TRUSTED" | "EXECUTION_FAILED" | "CANCELLED" | "TIMED_OUT" | "FILE_NOT_FOUND" | "FILE_WRITE_FAILURE" | "READ_CONTENT_FAILURE" | "ATTEMPT_TO_CREATE_EXISTING_FILE" | "FILE_TOO_LARGE" | "FILE_CHANGED" | "PERMISSION_DENIED" | "NO_SPACE_LEFT" | "TARGET_IS_DIRECTORY" | "PATH_NOT_IN_WORKSPACE" | "EDIT_PREPARATION_FAILURE" | "EDIT_NO_OCCURRENCE_FOUND" | "EDIT_EXPECTED_OCCURRENCE_MISMATCH" | "EDIT_NO_CHANGE" | "GLOB_EXECUTION_ERROR" | "GREP_EXECUTION_ERROR" | "LS_EXECUTION_ERROR" | "SHELL_EXECUTE_ERROR" | "MEMORY_TOOL_EXECUTION_ERROR" | "MCP_TOOL_ERROR" | "DISCOVERED_TOOL_EXECUTION_ERROR" | "WEB_FETCH_PROCESSING_ERROR" | "WEB_SEARCH_FAILED" | "MAX_DEPTH" | "CONTEXT_TOO_LARGE" | "POLICY_DENIED" | "USER_DENIED" | "NO_CLIENT" | "SANDBOX_DENIED" | "INTERRUPTED" | "HOOK_DENIED" | (string & {});

/** What a tool does. */
export type ToolKind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other" | (string & {});

/** A tool's canonical name, e.g. `read_file`. */
export type ToolName = string;

/** What a call returned. */
export interface ToolResult {
  /** For the model. */
  llmContent: (MessagePart | Record<string, unknown>)[];
  /** For people: Markdown. Missing when it would say what `llmContent` says. */
  returnDisplay?: string | null;
  /** Structured, for programs. */
  data?: unknown;
  /**
   * Where all of the output is, when `llmContent` has only its head and its tail. Missing when nothing was
   * cut, or when the whole could not be kept, which `llmContent` then says.
   */
  fullOutput?: FullOutput | null;
  /** Set when the call failed; `llmContent` then tells the model what to do about it. */
  error?: ToolError | null;
}

/** Where a tool comes from, in the order of listings and declarations. */
export type ToolSource =
  /** It is part of the daemon. */
  | "builtin"
  /** It is an agent, whose run answers the call. */
  | "agent"
  /** The command `tools.discoveryCommand` told of it. */
  | "discovered"
  /** A server that speaks the Model Context Protocol has it. */
  | "mcp"
  /** A client lends it. */
  | "client"
  | (string & {});

/** Fields that only tool calls have. */
export interface ToolSpan {
  callId: CallId;
  tool: ToolName;
  /** The MCP server that has the tool. */
  server?: string | null;
  /** A description of this call for people, e.g. the path it reads. */
  description?: string | null;
  kind?: string | null;
  risk?: string | null;
  /** The decision whether it runs; missing where nobody had to decide. */
  decision?: CallDecision | null;
  /** The hook that wants this call, by its id; missing of a call that the agent asked for. */
  requestedBy?: string | null;
  /**
   * The call that it follows, where a hook wants it: the model reads what comes of it in place of that call's
   * result.
   */
  follows?: CallId | null;
  /** The tool of that call. */
  followsTool?: ToolName | null;
  /**
   * The arguments as the model gave them, or the hook that wants the call, where hooks or a person changed
   * them; `input` has what ran, or what was denied at last.
   */
  askedInput?: SpanText | null;
  /**
   * The hooks that changed them, by their ids, and the clients of people who did, in the order in which they
   * did so first.
   */
  changedBy?: string[];
  /** Each change of them, in the order in which they were made. */
  changes?: ArgumentChange[];
  /**
   * The hook by whose word the model read another text than the result, or none. `output` has what it read;
   * what the tool gave stands only in the event of the call's end.
   */
  resultChangedBy?: string | null;
  /**
   * The result was kept from the model: by that hook, or since the run ended before its hooks had said
   * anything of it.
   */
  resultWithheld?: boolean;
  /** Time until it ran; missing when it never did. */
  waitedMs?: number | null;
  /**
   * The most of its time in which there may have been no daemon, as in the run's `downMs`: it was not at work
   * then.
   */
  downMs?: number;
  /** The run that answered it. */
  childRunId?: RunId | null;
  /** Files that it changed; the first 100. */
  filesChanged?: SpanFileChange[];
}

export interface ToolState {
  callId: CallId;
  /** Missing on the first. */
  from?: CallState | null | string;
  to: CallState;
  name: ToolName;
  providerCallId?: string | null;
  /** On the first, and again when validation made them canonical. */
  arguments?: unknown;
  /** From `scheduled` on its first event only. */
  details?: CallDetails | null;
  /** On `executing` of a call that another agent answers: its run. */
  childRunId?: RunId | null;
  /**
   * On `executing` of a call that may put something out while it runs, as `tool.output`; one that an agent
   * answers does.
   */
  streams?: boolean;
  /** On the end of a call that put something out while it ran: all that was streamed as `tool.output`. */
  output?: string | null;
  result?: ToolResult | null;
  error?: ToolError | null;
  /** On the end of a call that a rule forbade: that rule, named as in `details`. */
  deniedBy?: string | null;
  /** The word that this rule goes back to, where it stands in no file: that of a mode, say. */
  deniedOrigin?: RuleOrigin | null;
  /**
   * On the end of a call about whose result hooks are asked: the model reads it, or another text in its
   * place, when they have answered. The last of their `hook.fired` says `settlesResult`.
   */
  awaitsHooks?: boolean;
}

export interface ToolsCallParams {
  sessionId: SessionId;
  tool: ToolName;
  arguments: unknown;
}

export interface ToolsCallResult {
  callId: CallId;
  /** The run as which it was carried out. */
  runId: RunId;
  /**
   * As hooks of `PostToolUse` and `PostToolUseFailure` left it: where one replaced or withheld it, only the
   * text in its place.
   */
  result: ToolResult;
  seq: EventSeq;
}

export interface ToolsListParams {
  /** Only the tools that this agent's runs get, or would get if nothing excluded them. */
  agent?: AgentName | null;
  /** As the runs of this session have them: with the tools of its workspace, and those lent to it. */
  sessionId?: SessionId | null;
  /** As runs in this workspace have them. Not beside `sessionId`, which has a workspace of its own. */
  workspace?: WorkspaceParam | null;
}

export interface ToolsListResult {
  /** In the order in which they are declared to models. */
  tools: ListedTool[];
  /** What is odd about tools that are not the daemon's own, such as a discovery that failed. */
  warnings?: string[];
}

export interface ToolsOutputParams {
  callId: CallId;
  /** The call must be of this session. Missing = of any. */
  sessionId?: SessionId | null;
  stream?: OutputStream;
  /** Where the page begins, in bytes: 0 is the beginning, then `next` of the page before. */
  from?: number;
}

export interface ToolsOutputResult {
  callId: CallId;
  sessionId: SessionId;
  /** Whole characters; about 256 KiB of them unless it is the last page. */
  text: string;
  /** Give it as `from`; missing on the last page. */
  next?: number | null;
  /** What is kept, in bytes of UTF-8. */
  bytes: number;
  /** What there was, in bytes; more than `bytes` when it was too long even for keeping. */
  totalBytes: number;
}

export interface ToolsRegisterParams {
  /** For the runs of this session alone. Missing = for those of every session. */
  sessionId?: SessionId | null;
  /** In place of those that this client lent there before; none = it lends none any more. */
  tools: ClientToolParams[];
  /** What becomes of a call that the client has not answered when its connection ends. */
  onDisconnect?: OnDisconnect;
}

export interface ToolsRegisterResult {
  /** Who lends them: events name it. */
  clientId: ClientId;
  /**
   * Their names. Runs that are planned from now on may be given them; those that have begun keep what they
   * have.
   */
  tools: ToolName[];
  /** Calls that wait for this client, the oldest first: it is told of them again. */
  calls?: OpenClientCall[];
}

/** One of `content` and `error` is given. */
export interface ToolsResultParams {
  /** As `tool.clientCall` told it. */
  callId: CallId;
  /**
   * What the tool found or did, for the model. Longer text than it gets is cut and kept whole, like any
   * output.
   */
  content?: ClientContent[] | null;
  /** For programs, beside `content`. */
  data?: unknown;
  /** The reason why the tool failed; the model reads it. */
  error?: ClientError | null;
}

export interface ToolsResultResult {
  callId: CallId;
  /** Of the last event it caused: the call has ended. */
  seq: EventSeq;
  /** The same was answered before; this is what was said then. */
  replayed?: boolean;
}

/** A place that spans go to. */
export type TraceBackend =
  /** The daemon's database, which has every span anyway. */
  | "sqlite"
  /** The collector that the settings name. */
  | "otlp"
  /** A file for each session and day, below the daemon's state folder. */
  | "file"
  /** The daemon's own log. */
  | "console"
  | (string & {});

/** The part of what agents read and wrote that goes to others; each has less than the one before. */
export type TraceContent =
  /** Texts as the log has them: without secrets. */
  | "full"
  /** The sizes of texts in their place. */
  | "redacted"
  /** No texts. */
  | "none"
  | (string & {});

/** A span of a trace, written as `00-<trace>-<span>-<flags>` in hexadecimal digits (W3C Trace Context). */
export type TraceContext = string;

/** Exactly one of `runId` and `sessionId`. */
export interface TraceExportParams {
  /** This run and all below it. */
  runId?: RunId | null;
  /** All runs of this session. */
  sessionId?: SessionId | null;
  format: TraceFormat;
  /** The `nextCursor` of the page before: all pages are as of the first one. */
  cursor?: string | null;
}

export interface TraceExportResult {
  /** The media type of the whole document. */
  mediaType: string;
  /** The next piece of it; about 256 KiB unless it is the last. */
  text: string;
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/** The format of an exported trace. */
export type TraceFormat =
  /** One object with all spans, as `trace/get` has them. */
  | "json"
  /** One span a line. */
  | "jsonl"
  /**
   * The JSON of the OpenTelemetry protocol, with the names of its conventions for generative AI. Spans that
   * are open are left out, since it has none.
   */
  | "otlp"
  /** Trace events of Chrome, which Perfetto opens. */
  | "chrome"
  /** A story to read, in Markdown. */
  | "markdown";

export interface TraceGetParams {
  /** The run at the root, or one below it. */
  runId: RunId;
  /**
   * Without what was asked and said, but for what people answered; of what happened in between only what was
   * said to a run, restarts, warnings, loops, and skills and facts that it took up: for whoever draws times.
   */
  brief?: boolean;
  /** The `nextCursor` of the page before: all pages are as of the first one. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface TraceGetResult {
  /** The run at the root. */
  traceId: RunId;
  /**
   * Spans in the order in which they ended, children before their parents; then those that are open. A page
   * of long ones is shorter than `limit`.
   */
  spans: TraceSpan[];
  /** The daemon's time, up to which spans that are open have lasted. */
  now: Timestamp;
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

export interface TraceListParams {
  sessionId?: SessionId | null;
  /** The agent of the run at the root. */
  agent?: AgentName | null;
  /** Only those whose run at the root has not ended. */
  active?: boolean;
  /** The `nextCursor` of the page before. */
  cursor?: string | null;
  /** Missing = 100. */
  limit?: number;
}

export interface TraceListResult {
  traces: TraceSummary[];
  /** The daemon's time, up to which traces that have not ended have lasted. */
  now: Timestamp;
  /** There is more; give it as `cursor`. */
  nextCursor?: string | null;
}

/**
 * A span of a trace. A span lies within its parent: in the order of the log, times never go back. Where the
 * clock was set back, the times of what follows are moved on, so that durations stay right.
 */
export interface TraceSpan {
  /** The run at the root. */
  traceId: RunId;
  spanId: SpanId;
  /** Missing on the first run of what was asked for. */
  parentSpanId?: SpanId | null;
  /**
   * The span of somebody else that the whole trace lies in, as `traceparent` of `run/start` said. On export
   * its trace goes before the run's own.
   */
  traceparent?: TraceContext | null;
  kind: SpanKind;
  /**
   * The agent, the number of the turn, the model, the tool, the title of the question, the event of the hook,
   * the method and tool of the request to a server.
   */
  name: string;
  runId: RunId;
  sessionId?: SessionId | null;
  agent?: AgentName | null;
  /**
   * The number of its run among those of this agent in the trace, in the order in which they began; missing
   * where there is only one, and on spans that are told as they end.
   */
  runNumber?: number | null;
  /** 1-based; missing on a run. */
  turn?: number | null;
  /** Depth of its run: 0 for a root run. */
  depth?: number;
  /**
   * Spans of one run that overlap without one lying within the other have different ones: calls that run at
   * the same time.
   */
  lane?: number;
  startedAt: Timestamp;
  endedAt?: Timestamp | null;
  /** Microseconds since 1970. */
  startUs: number;
  endUs?: number | null;
  status: SpanStatus;
  error?: SpanError | null;
  /**
   * Input: the prompt of a run; of a request what a person said that the model has not read before; the
   * arguments of a call as JSON; the subject of a question.
   */
  input?: SpanText | null;
  /** Output: the result of a run or call, the text of a model. */
  output?: SpanText | null;
  /** Tokens of the request; of a run the sum of its own requests, without those of the runs below it. */
  usage?: Usage | null;
  /** The same in money; missing when the price is not known. */
  cost?: Cost | null;
  /** Set on a run. */
  run?: RunSpan | null;
  /** Set on a request to a model. */
  llm?: LlmSpan | null;
  /** Set on a call. */
  tool?: ToolSpan | null;
  /** Set on a question. */
  confirmation?: ConfirmationSpan | null;
  /** Set on a compression. */
  compression?: CompressionSpan | null;
  /** Set on a hook. */
  hook?: HookSpan | null;
  /** Set on a request to an MCP server. */
  mcp?: McpSpan | null;
  /** Events within the span, the first 64. */
  events?: SpanEvent[];
  /** The number of further events. */
  moreEvents?: number;
  /** It began before the first event that was read, which its start is. */
  beganBefore?: boolean;
}

/** A trace, as lists show it. */
export interface TraceSummary {
  /** The run at the root. */
  traceId: RunId;
  sessionId: SessionId;
  agent: AgentName;
  model: string;
  /** The state of the run at the root, as in its record. */
  state: RunState;
  reason?: RunEndReason | null | string;
  prompt?: string | null;
  /** The time at which it was asked for. Its time counts from here, with the time in queues. */
  askedAt: Timestamp;
  /** The time at which it began, after its queues. */
  startedAt: Timestamp;
  endedAt?: Timestamp | null;
  /** Runs of the tree, the root among them; what follows is of all of them. */
  runs: number;
  turns: number;
  toolCalls: number;
  usage: Usage;
  /** Missing when none of the prices is known. */
  cost?: Cost | null;
  /** Tokens whose price nobody told. */
  unpricedTokens?: number;
  /** Requests of which the daemon estimated the tokens, or some of them. */
  estimatedRequests?: number;
  /** Requests of which nobody knows what they used: `usage` and `cost` are without them. */
  uncountedRequests?: number;
}

/**
 * A kind of spans that an agent may choose. Runs, turns, questions to people and hooks always go with them.
 */
export type TracedEvents =
  /** Requests to models, and compressions. */
  | "llm"
  /** Tool calls, and the requests to MCP servers in them. */
  | "tool"
  | (string & {});

/** One trigger of an agent, and how often it decided. */
export interface TriggerUse {
  /** What such a prompt is about, for people. */
  intent?: string | null;
  /** Found without regard to case, where a word begins with one. */
  keywords?: string[];
  /** In the syntax of the `regex` crate; matched without regard to case. */
  regex?: string | null;
  /** The highest among those that fit decides. */
  priority?: number;
  /** Prompts that it brought to the agent. */
  hits: number;
  /** How many of them a person gave to another agent then, by its name. */
  overrides: number;
}

export interface TrustedFile {
  path: string;
  /**
   * Written as `sha256:<hex>`. Beside it, for the same path, `guard:EVENT MATCHER` stands for what the file's
   * hooks guarded then.
   */
  digest: string;
}

export interface TurnCompleted {
  turn: number;
  toolCalls: number;
}

export interface TurnStarted {
  /** 1-based. */
  turn: number;
  /** Set on the grace turn: the limit that was hit. */
  grace?: RunEndReason | null | string;
}

/** A person's word that a changed file is to be as it was. */
export interface UndoneChange {
  at: Timestamp;
  /** The client that asked for it. */
  by?: string | null;
  /** Somebody had changed the file since, and that was overwritten. */
  forced?: boolean;
}

/** Data of `signal.unknownField`: a parameter nobody knows was ignored. Said once a connection and field. */
export interface UnknownField {
  method: string;
  /** JSON pointer. */
  field: string;
  didYouMean?: string | null;
}

export interface UnsubscribeResult {
  /** False when there was no such subscription on this connection. */
  unsubscribed: boolean;
}

/** Tokens of one model call, or of many added up. */
export interface Usage {
  /** All tokens of the request, cached ones included. */
  promptTokens?: number;
  /** Of these, served from the provider's cache. */
  cachedTokens?: number;
  /**
   * Of the others, put into the provider's cache, where that has a price of its own; left out when there are
   * none.
   */
  cacheWriteTokens?: number;
  /** Tokens of the reply, thoughts not included. */
  outputTokens?: number;
  thoughtTokens?: number;
}

/** Exactly one of them. */
export interface UsageGetParams {
  /** All runs of this session. */
  sessionId?: SessionId | null;
  /** This run and all below it. */
  runId?: RunId | null;
  /**
   * From this moment on, in all sessions that there are: what a deleted session used went with it. Kept by
   * the minute, so the whole minute counts.
   */
  since?: Timestamp | null;
}

export interface UsageGetResult {
  /** Where it was asked by time: the moment from which on it was counted. */
  since?: Timestamp | null;
  total: UsedAmount;
  /** Of each model, most tokens first. */
  byModel: UsedByModel[];
  /** Of each agent, most tokens first. */
  byAgent: UsedByAgent[];
  /** Of each agent by each model, most tokens first. */
  byAgentAndModel: UsedByAgentAndModel[];
  /**
   * Models that used tokens whose price nobody told (`models.prices`): all costs in which they have a part
   * are less than what it came to.
   */
  unpricedModels?: string[];
  /** Lists are cut after 1,000 rows; `total` counts all. */
  truncated?: boolean;
}

/**
 * What was used, by replies of models and by what the daemon asks them beside the turns, as the log tells it.
 */
export interface UsedAmount {
  /** Requests to models, also those that were cut off. */
  calls: number;
  /** Of these, calls whose tokens the daemon estimated, since the provider did not count them. */
  estimatedCalls?: number;
  /**
   * Calls among these of which nobody knows what they used, since they were cut off before anything had come
   * of them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedCalls?: number;
  usage: Usage;
  /** By `models.prices`, as they were at the time; missing when none of the prices was known. */
  cost?: Cost | null;
  /** Tokens whose price nobody told; as long as there are any, `cost` is not the whole. */
  unpricedTokens?: number;
}

/**
 * What was used, by replies of models and by what the daemon asks them beside the turns, as the log tells it.
 */
export interface UsedByAgent {
  agent: AgentName;
  /** Requests to models, also those that were cut off. */
  calls: number;
  /** Of these, calls whose tokens the daemon estimated, since the provider did not count them. */
  estimatedCalls?: number;
  /**
   * Calls among these of which nobody knows what they used, since they were cut off before anything had come
   * of them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedCalls?: number;
  usage: Usage;
  /** By `models.prices`, as they were at the time; missing when none of the prices was known. */
  cost?: Cost | null;
  /** Tokens whose price nobody told; as long as there are any, `cost` is not the whole. */
  unpricedTokens?: number;
}

/**
 * What was used, by replies of models and by what the daemon asks them beside the turns, as the log tells it.
 */
export interface UsedByAgentAndModel {
  agent: AgentName;
  model: string;
  /** Requests to models, also those that were cut off. */
  calls: number;
  /** Of these, calls whose tokens the daemon estimated, since the provider did not count them. */
  estimatedCalls?: number;
  /**
   * Calls among these of which nobody knows what they used, since they were cut off before anything had come
   * of them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedCalls?: number;
  usage: Usage;
  /** By `models.prices`, as they were at the time; missing when none of the prices was known. */
  cost?: Cost | null;
  /** Tokens whose price nobody told; as long as there are any, `cost` is not the whole. */
  unpricedTokens?: number;
}

/**
 * What was used, by replies of models and by what the daemon asks them beside the turns, as the log tells it.
 */
export interface UsedByModel {
  /** As `model.completed` names it. */
  model: string;
  /** Requests to models, also those that were cut off. */
  calls: number;
  /** Of these, calls whose tokens the daemon estimated, since the provider did not count them. */
  estimatedCalls?: number;
  /**
   * Calls among these of which nobody knows what they used, since they were cut off before anything had come
   * of them, or as the daemon ended: `usage` and `cost` are without them.
   */
  uncountedCalls?: number;
  usage: Usage;
  /** By `models.prices`, as they were at the time; missing when none of the prices was known. */
  cost?: Cost | null;
  /** Tokens whose price nobody told; as long as there are any, `cost` is not the whole. */
  unpricedTokens?: number;
}

/** One question of an agent, or of a server that is at a call. */
export interface UserQuestion {
  question: string;
  /** What can be chosen; empty = any text. A person may answer with a text of their own, unless `closed`. */
  options?: string[];
  /** Several may be chosen. */
  multiSelect?: boolean;
  /** Nothing but the options can be chosen. */
  closed?: boolean;
  /** What the answer must read as. It is sent as a text all the same. */
  kind?: AnswerKind;
  /** An empty answer leaves it out. */
  optional?: boolean;
  /** What an empty answer means. */
  default?: QuestionAnswer | null;
}

export interface ValidatedAgent {
  name: AgentName;
  path?: string | null;
  checks: AgentCheck[];
}

/** May a call run? Ordered by strictness, so combining opinions is `max` and none can loosen another. */
export type Verdict = "allow" | "ask" | "deny" | (string & {});

/** The thing that a run which has not ended waits for. */
export interface WaitCause {
  /**
   * `person`: an answer to a question. `model`, `tool`, `agent`: something that is at work for it. `hook`: a
   * hook that takes long. `context`: the runs before it in its context. `place`: a place among the runs at
   * work. `hooks`: what hooks say of its prompt. `unparked`: that it is no longer parked. `daemon`: the
   * daemon was started again, and has not taken it up yet.
   */
  for: string;
  /**
   * The time from which on it waits; of `daemon` the time of the last that the log tells of it, which is
   * before the daemon ended.
   */
  since: Timestamp;
  /**
   * The title of the question, the model, the tool with what the call is about, the agent, the hook, the run
   * that has the context now (`run ID of AGENT`), or the reason why it is parked or was not taken up.
   */
  about?: string | null;
  /** The question, where it waits for a person, or for a hook about their change. */
  confirmationId?: ConfirmationId | null;
  /** The number of runs before it in the same queue, without the one that is at work. */
  ahead?: number | null;
}

/** What can be waited for. */
export type WaitUntil =
  | "ended"
  /** The run, or one below it, asks a person something. */
  | "confirmation";

/** Who says how many tokens a model takes in. */
export type WindowSource =
  /** `models.contextWindow`. */
  | "settings"
  /** The provider's list of models. */
  | "provider"
  /** What the provider publishes, as this version knows it. */
  | "table"
  /** Nobody: it is a guess. */
  | "assumed"
  | (string & {});

/** What a connection may do; more is answered by an error. */
export interface WireLimits {
  maxMessageBytes: number;
  maxInFlight: number;
  maxSubscriptions: number;
  maxBatch: number;
}

/** A folder in which agents work, or have worked: whatever lies there, one may have written. */
export interface WorkedFolder {
  /** Absolute, without links as it was when a session began there. */
  folder: string;
  /**
   * The session that began there last; it may have been deleted. Missing = it was deleted before the daemon
   * kept that.
   */
  lastSessionId?: SessionId | null;
  /** The time at which that session was active last, or at which it began, if it is deleted. */
  lastAt?: Timestamp | null;
  /**
   * Sessions that have it as one of their folders, deleted ones apart. While there are some it cannot be
   * forgotten.
   */
  sessions: number;
}

export interface WorkedFoldersForgetParams {
  /** Absolute, as `workedFolders/list` tells it, or by a link. It need not be there any more. */
  folder: string;
}

export interface WorkedFoldersForgetResult {
  /** The folder that was meant, without links. */
  folder: string;
  /** False = it was none of these folders, so nothing was changed. */
  forgotten: boolean;
  /** Folders above it in which agents work, or have worked: what lies in it counts by them as before. */
  stillWithin?: string[];
  seq: EventSeq;
}

export interface WorkedFoldersListResult {
  /** Those in which agents worked last come first; at most 1,000. */
  folders: WorkedFolder[];
  /** There are more. */
  more?: boolean;
}

/** What a workspace's discovery of tools came to. */
export interface WorkspaceDiscovery {
  /** As the setting has it, without secrets. */
  command: string;
  /** When it ran last; missing where it may not run. */
  at?: Timestamp | null;
  /** How many tools there are now; `tools/list` has them. */
  tools: number;
  /** The reason why there are no more, or none. */
  warnings?: string[];
}

export interface WorkspaceFile {
  /** Below its root. */
  path: string;
  /** Of the workspace's roots the one it lies in; missing when there is only one. */
  root?: string | null;
  kind: WorkspaceFileKind;
  digest: string;
  acknowledged: boolean;
  /** It was acknowledged, and is another one since. */
  changed?: boolean;
  /** What it changes once it is acknowledged, one sentence each, for the person who is asked. */
  effects: string[];
  /**
   * Those of `effects` by which something runs that nobody is asked about; not to be left out of what is
   * shown.
   */
  runsUnasked: string[];
}

/** What a workspace's own file is. */
export type WorkspaceFileKind =
  /** It may be started. */
  | "agent"
  /** Its rules count; they only make things stricter. */
  | "policy"
  /** They count here. */
  | "settings"
  /** A command of the settings names it, and it is run as it is. */
  | "program"
  /** Its text replaces the daemon's own system prompt, where `prompt.systemFile` is true. */
  | "systemPrompt"
  /** A folder, all of it: models may be told of it, and what it says. */
  | "skill"
  /** Its hooks are run at points of a run, and nobody is asked before. */
  | "hooks"
  | (string & {});

export interface WorkspaceListResult {
  /** Those about whose trust a person has spoken; without their files. */
  workspaces: ListedWorkspace[];
}

export interface WorkspaceOpenParams {
  workspace: WorkspaceParam;
}

export interface WorkspaceOpenResult {
  workspace: WorkspaceRecord;
}

/** One root, or several. */
export type WorkspaceParam = string | {
    roots: string[];
  };

/**
 * A workspace, and what of its own files a person has acknowledged. A person agrees to it, so what is empty
 * is there, too.
 */
export interface WorkspaceRecord {
  /** Canonical. */
  roots: string[];
  /** A person said so, of each root. Of its files those count that are acknowledged as they are now. */
  trusted: boolean;
  /** Its agents, rules and settings, and whether each is acknowledged as it is now. */
  files: WorkspaceFile[];
  /**
   * What is wrong with its files. One that cannot be read cannot be acknowledged, nor an agent with errors.
   */
  problems: FileProblem[];
  /** What came of `tools.discoveryCommand` here, where one is set. */
  discovery?: WorkspaceDiscovery | null;
  /**
   * Its memory files that nobody is told of before it is trusted, and every agent after it, also what they
   * say later.
   */
  memoryFiles: string[];
  /** Files that these import, whose texts agents are told with theirs. */
  memoryImports: ImportedMemoryFile[];
  /**
   * Files that a person acknowledged and that are not there any more, while hooks or what they guarded wait
   * for them: what those guarded is refused until the workspace is trusted without them. Paths below the
   * root; of several roots whole.
   */
  gone: string[];
}

export interface WorkspaceTrustParams {
  workspace: WorkspaceParam;
  trusted: boolean;
  /**
   * What the person saw of it, as `workspace/open` told: just these are acknowledged, besides what was
   * before. Needed to trust a workspace that has any; none to take trust back, which forgets all.
   */
  files?: TrustedFile[];
}

export interface WorkspaceTrustResult {
  workspace: WorkspaceRecord;
  seq: EventSeq;
}

/** Data of `workspace.trusted`: whether a workspace's agents, rules and settings count, as a person said. */
export interface WorkspaceTrusted {
  /** Canonical. */
  workspace: string;
  trusted: boolean;
  /** The files that were acknowledged with it: path below the workspace, and digest. */
  files?: TrustedFile[];
  /** These files were acknowledged and nothing was said of the workspace, which is as trusted as it was. */
  filesOnly?: boolean;
}

/** Every method: what it takes and what it answers. */
export interface Methods {
  /**
   * Says who the client is and what it can do, and learns the same of the daemon. Optional: a script may call
   * any method without it.
   */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Changes what the client said of itself in `initialize`, which must have been said. */
  "client/update": { params: ClientUpdateParams; result: ClientUpdateResult };
  /** Who is there: connections that said `initialize` or are attached to something, one entry each. */
  "client/list": { params: ClientListParams; result: ClientListResult };
  /** Answers at once. */
  "ping": { params: NoParams; result: PingResult };
  /** The OpenRPC document of this daemon. */
  "rpc/discover": { params: NoParams; result: unknown };
  /** How the daemon is: version, uptime, runs by state, clients, database, memory, what is degraded. */
  "daemon/status": { params: NoParams; result: DaemonStatusResult };
  /**
   * Looks whether the daemon and its surroundings are as they should be: the database page by page, disk,
   * settings, agents, keys, who may come in. Takes seconds when the database is large.
   */
  "daemon/doctor": { params: DoctorParams; result: DoctorResult };
  /**
   * Stops the daemon. A turn that is under way may end (setting `shutdown.graceSeconds`); live runs go on at
   * the next start.
   */
  "daemon/shutdown": { params: NoParams; result: ShutdownResult };
  /**
   * Takes no new runs from now on, and brings those there are to rest. Answers when none is at work any more,
   * or at the deadline.
   */
  "daemon/drain": { params: DrainParams; result: DrainResult };
  /** The daemon's own log, the newest lines first kept: what it would print, with secrets taken out. */
  "daemon/logs": { params: LogsParams; result: LogsResult };
  /**
   * Removes the sessions that the settings `retention` do not keep, the one that was idle longest first, and
   * gives their room back to the disk; or says which these are. Never one with a live run, an open question,
   * or a client that is attached to it. The daemon does the same by itself every hour.
   */
  "daemon/gc": { params: GcParams; result: GcResult };
  /**
   * Reads the settings anew. What can be changed in a daemon that runs is changed, for whatever begins from
   * now on.
   */
  "daemon/reload": { params: NoParams; result: ReloadResult };
  /** Says how much the daemon logs, until it ends. */
  "daemon/setLogLevel": { params: SetLogLevelParams; result: SetLogLevelResult };
  /** The settings in force, each with where it was set. */
  "config/get": { params: ConfigGetParams; result: ConfigGetResult };
  /**
   * What models used, and what that cost: of a run with all below it, of a session, or since a moment; by
   * model and by agent. What `models/test` uses stands in no log and is not counted.
   */
  "usage/get": { params: UsageGetParams; result: UsageGetResult };
  /**
   * The models there are, as their providers tell them, each within seconds; and the names that the settings
   * give to models. What one provider does not tell costs the others nothing.
   */
  "models/list": { params: ModelsListParams; result: ModelsListResult };
  /**
   * Asks a model one short question, once, and for real: does it answer, how fast, and does it call a tool?
   * What goes wrong on the way is data; `NO_MODEL` when the name means none.
   */
  "models/test": { params: ModelsTestParams; result: ModelsTestResult };
  /** The servers of the Model Context Protocol that are configured, each in one line. None is started. */
  "mcp/list": { params: McpListParams; result: McpListResult };
  /** All that is known of them: errors, tools, restarts, the last that they complained of, how calls went. */
  "mcp/status": { params: McpStatusParams; result: McpStatusResult };
  /**
   * Starts a server, or tries it at once when it waits to be tried. Answers when it is ready or away, which
   * is data.
   */
  "mcp/connect": { params: McpServerParams; result: McpServerStatus };
  /** Stops a server, until somebody needs it. Calls that are under way fail. */
  "mcp/disconnect": { params: McpServerParams; result: McpServerStatus };
  /** Stops a server and starts it. Answers when it is ready or away. */
  "mcp/restart": { params: McpServerParams; result: McpServerStatus };
  /** Switches a server off in every workspace, or on again; also for the next daemon. */
  "mcp/setEnabled": { params: McpSetEnabledParams; result: McpSetEnabledResult };
  /**
   * Writes a server's entry into your settings, or into a workspace's, where the rest of the file stays as it
   * is. In your settings it is in force when this is answered; in a workspace's it counts as acknowledged
   * only when all of the file before was. A file with errors is not touched: `CONFLICT`; `ALREADY_EXISTS`
   * without `force` when there is another entry of the name.
   */
  "mcp/add": { params: McpAddParams; result: McpWrittenResult };
  /**
   * Takes a server's entry out of your settings, or of a workspace's, where the rest of the file stays as it
   * is.
   */
  "mcp/remove": { params: McpRemoveParams; result: McpWrittenResult };
  /**
   * Begins to sign in to a server over HTTP: answers where a person has to go with a browser of this machine,
   * within ten minutes. With `waitMs` it begins nothing, and answers how it is with what was begun: as soon
   * as that is over, or after this time. `CONFLICT` when the server does not ask for a sign-in, or its
   * authorization server cannot be trusted.
   */
  "mcp/login": { params: McpLoginParams; result: McpLoginResult };
  /**
   * Signs out of a server over HTTP: deletes its tokens and revokes them at the authorization server. Runs
   * that use it are cut off.
   */
  "mcp/logout": { params: McpServerParams; result: McpLogoutResult };
  /**
   * The prompts that a server has, or what one of them says. The server is started if it must be; `CONFLICT`
   * when it is away.
   */
  "mcp/prompts": { params: McpPromptsParams; result: McpPromptsResult };
  /** The resources that a server lists. The server is started if it must be; `CONFLICT` when it is away. */
  "mcp/resources": { params: McpServerParams; result: McpResourcesResult };
  /** What one resource of a server holds. The server is started if it must be; `CONFLICT` when it is away. */
  "mcp/readResource": { params: McpReadResourceParams; result: McpReadResourceResult };
  /**
   * A small server that works, for whoever writes one, and its entry for the settings. With a `path` it is
   * written there; `ALREADY_EXISTS` without `force` when there is another file.
   */
  "mcp/template": { params: McpTemplateParams; result: McpTemplateResult };
  /** The agents there are, with where they come from and what is wrong with those that cannot be used. */
  "agents/list": { params: AgentsListParams; result: AgentsListResult };
  /** One agent: its definition, where it comes from, and what is wrong with it. */
  "agents/get": { params: AgentsGetParams; result: AgentsGetResult };
  /**
   * Writes a new agent's file: from a text, from fields, or from a template. It is live when this is
   * answered, and a project's file that was written so counts as acknowledged.
   */
  "agents/create": { params: AgentsCreateParams; result: AgentWrittenResult };
  /** Changes an agent's file. What it said before goes to the trash. */
  "agents/update": { params: AgentsUpdateParams; result: AgentWrittenResult };
  /**
   * Puts an agent's file into the trash. Its runs and contexts stay readable, unless `contexts` says
   * otherwise.
   */
  "agents/delete": { params: AgentsDeleteParams; result: AgentsDeleteResult };
  /** What agents can be made from: the daemon's own templates, and the user's. */
  "agents/templates": { params: AgentsTemplatesParams; result: AgentsTemplatesResult };
  /**
   * Brings in files of this and of other products, from paths or from a URL, written anew in the format of
   * this one. Tells of each file what became of it; one that holds no agent keeps none of the others out.
   * What a URL does not give is told by `details.reason`: `noGit`, `noSuchHost`, `unreachable`, `timedOut`,
   * `notFound`, `needsPassword`, `refused`, `moved`, `tooLarge`, `noAgents`.
   */
  "agents/import": { params: AgentsImportParams; result: AgentsImportResult };
  /**
   * Writes agents in another product's words, and tells what that product cannot express. Nothing is saved.
   */
  "agents/export": { params: AgentsExportParams; result: AgentsExportResult };
  /** Checks agents, one line a check. */
  "agents/validate": { params: AgentsValidateParams; result: AgentsValidateResult };
  /** A person has read this agent of a project: it may be started as it is now. */
  "agents/acknowledge": { params: AgentsAcknowledgeParams; result: AgentsAcknowledgeResult };
  /** Which agent a prompt would go to that names none, and why. */
  "agents/route": { params: AgentsRouteParams; result: AgentRoute };
  /**
   * Reads all files of agents anew, whatever is known of them: the user's, and those of a workspace. Saved
   * files are live without it; this is for file systems that do not tell what changes.
   */
  "agents/reload": { params: AgentsReloadParams; result: AgentsReloadResult };
  /**
   * What the next run of an agent would be told before its first message, part by part. Nothing is started.
   * `AGENT_NOT_READY` when a file that replaces the system prompt cannot be used.
   */
  "prompt/render": { params: PromptRenderParams; result: PromptRenderResult };
  /** The memory files that are there, of the user and of a workspace, and which of them runs are told of. */
  "memory/files": { params: MemoryFilesParams; result: MemoryFilesResult };
  /** The skills there are, those that do not count among them. */
  "skills/list": { params: SkillsListParams; result: SkillsListResult };
  /** One skill: what its file says, and which files it has. */
  "skills/get": { params: SkillsGetParams; result: SkillsGetResult };
  /**
   * Checks a skill's folder by the published rules (<https://agentskills.io/specification>). Nothing is used
   * of it.
   */
  "skills/validate": { params: SkillsValidateParams; result: SkillsValidateResult };
  /** Switches a skill off everywhere, or on again: writes the setting `skills.disabled` of the user. */
  "skills/setEnabled": { params: SkillsSetEnabledParams; result: SkillsSetEnabledResult };
  /** The extensions that are installed, and whether each counts. */
  "extension/list": { params: NoParams; result: ExtensionListResult };
  /** One extension, and what it brings along. */
  "extension/get": { params: ExtensionNameParams; result: ExtensionGetResult };
  /**
   * Installs an extension, or puts another version into the place of one: a folder in the format Agent
   * Plugins 1.0.0 (<https://github.com/agentplugins/agent-plugins-spec>). It is copied, and counts only as it
   * was copied. By a person: first asked with `dryRun`, and then with the digest of what they were shown.
   */
  "extension/install": { params: ExtensionInstallParams; result: ExtensionInstallResult };
  /**
   * Enables an extension: its skills count from the next run on, its MCP servers as soon as somebody needs
   * them.
   */
  "extension/enable": { params: ExtensionNameParams; result: ExtensionSwitchResult };
  /** Disables an extension: from the next turn on, runs have none of its skills and tools. */
  "extension/disable": { params: ExtensionNameParams; result: ExtensionSwitchResult };
  /** Removes an extension, with all that its programs wrote into their folder. */
  "extension/remove": { params: ExtensionNameParams; result: ExtensionRemoveResult };
  /**
   * Keeps what the editor of a person shows who works in a session: its root runs are told before their model
   * is asked, all of it at first and later what has changed. It is gone with the connection, so not over
   * HTTP. What is not told stands in the answer.
   */
  "ide/contextUpdate": { params: IdeContextUpdateParams; result: IdeContextUpdateResult };
  /** The tools there are, or those one agent gets. */
  "tools/list": { params: ToolsListParams; result: ToolsListResult };
  /**
   * Runs a tool for a client, as a run of its own: by the same rules, questions and records as an agent's
   * call. Refusals and failures are a result.
   */
  "tools/call": { params: ToolsCallParams; result: ToolsCallResult };
  /**
   * Lends tools of the client's own to agents, until its connection ends. They are called by the event
   * `tool.clientCall`, so the client follows the sessions that they are lent to. Needs `initialize`, and a
   * connection that stays: not HTTP.
   */
  "tools/register": { params: ToolsRegisterParams; result: ToolsRegisterResult };
  /**
   * The client's answer to a `tool.clientCall`; it ends the call. `FORBIDDEN` to every other client, `GONE`
   * when the call has ended otherwise.
   */
  "tools/result": { params: ToolsResultParams; result: ToolsResultResult };
  /**
   * All of an output of which the model got only head and tail, by page: whole characters from a place in
   * bytes on. `NOT_FOUND` when nothing is kept of the call's output, `GONE` when what was kept has been
   * removed since.
   */
  "tools/output": { params: ToolsOutputParams; result: ToolsOutputResult };
  /** The rules in force, and what is wrong with the files they come from. */
  "policy/list": { params: PolicyListParams; result: PolicyListResult };
  /** What would become of a call, and which rule says so. Nothing is run. */
  "policy/check": { params: PolicyCheckParams; result: PolicyCheckResult };
  /** Forgets a rule that was remembered from an answer. */
  "policy/remove": { params: PolicyRemoveParams; result: PolicyRemoveResult };
  /** The hooks of system, user and project: where each stands, what it runs, and whether it does. */
  "hooks/list": { params: HooksListParams; result: HooksListResult };
  /**
   * Switches a hook on or off for all runs from now on; also after a restart. `FORBIDDEN` for the system's.
   */
  "hooks/setEnabled": { params: HooksSetEnabledParams; result: HooksSetEnabledResult };
  /**
   * Runs one hook by hand, with an event that is made up, and says what its answer would mean. It really
   * runs; a file that nobody acknowledged does not.
   */
  "hooks/test": { params: HooksTestParams; result: HooksTestResult };
  /** A workspace, what it brings along, and whether a person has acknowledged that. */
  "workspace/open": { params: WorkspaceOpenParams; result: WorkspaceOpenResult };
  /** The workspaces about whose trust a person has spoken. */
  "workspace/list": { params: NoParams; result: WorkspaceListResult };
  /** Says whether a workspace's own agents, rules and settings count, as they are now. */
  "workspace/trust": { params: WorkspaceTrustParams; result: WorkspaceTrustResult };
  /**
   * The programs that settings name (`approval.notifyCommand`, key commands, hooks and MCP servers of the
   * user's own), with the files that they were first run with. One whose files changed since is not run, also
   * after a restart.
   */
  "programs/list": { params: NoParams; result: ProgramsListResult };
  /** A person has looked at a program that changed: it may be run as it is now. */
  "programs/acknowledge": { params: ProgramsAcknowledgeParams; result: ProgramsAcknowledgeResult };
  /**
   * The folders in which agents work, or have worked, whatever became of their sessions. A program of the
   * settings that is a script there is not run, and a hook of the user's own that has to do with files there
   * runs in the sandbox.
   */
  "workedFolders/list": { params: NoParams; result: WorkedFoldersListResult };
  /**
   * A person says that nothing in a folder is an agent's any more: what lies there may run with that person's
   * rights. Refused (`CONFLICT`) while a session that is not deleted has it as one of its folders;
   * `details.sessions` names the newest of them.
   */
  "workedFolders/forget": { params: WorkedFoldersForgetParams; result: WorkedFoldersForgetResult };
  /**
   * Starts a run, or queues it, or says something to the run that is busy. Answers when that is durable: the
   * run will end exactly once, whatever dies. Without `sessionId` in a new session.
   */
  "run/start": { params: RunStartParams; result: RunStartResult };
  /** One run's record. */
  "run/get": { params: RunIdParams; result: RunRecord };
  /** Runs, newest first. */
  "run/list": { params: RunListParams; result: RunListResult };
  /**
   * Waits until the run has ended, or with `until` until it or a run below it asks a person something, or
   * until the time is over; a time-out is a normal answer. An answer of a run that goes on has its open
   * questions, at most 32.
   */
  "run/wait": { params: RunWaitParams; result: RunWaitResult };
  /**
   * Stops a run: its tools and the runs below it end first. Answers when that is durable; cancelling a run
   * that has ended answers its end state.
   */
  "run/cancel": { params: RunCancelParams; result: RunCancelResult };
  /** Says something to a living run; the model reads it at the next turn. */
  "run/steer": { params: RunSteerParams; result: RunSteerResult };
  /** Runs that wait for their turn in a context, in their order. */
  "queue/list": { params: QueueListParams; result: QueueListResult };
  /** Takes a run out of its queue; it ends `ABORTED`. */
  "queue/remove": { params: QueueRunParams; result: QueueRunResult };
  /** Puts a run before all others that wait for the same context. */
  "queue/promote": { params: QueueRunParams; result: QueueRunResult };
  /** A parked run goes on; `CONFLICT` when it is not parked. */
  "run/unpark": { params: RunIdParams; result: QueueRunResult };
  /**
   * Questions to people that wait for an answer, oldest first; with `resolved` also those that are over. A
   * page of long ones is shorter than `limit`.
   */
  "confirmation/list": { params: ConfirmationListParams; result: ConfirmationListResult };
  /** One question, by its id or by the token of a notification. */
  "confirmation/get": { params: ConfirmationGetParams; result: ConfirmationGetResult };
  /** Tells others that somebody reads the question. A courtesy: anybody may still answer. */
  "confirmation/claim": { params: ConfirmationClaimParams; result: ConfirmationClaimResult };
  /** Takes that back. */
  "confirmation/release": { params: ConfirmationReleaseParams; result: ConfirmationReleaseResult };
  /**
   * Answers a question. The first valid answer counts, and what it allows begins in the same transaction; a
   * later one is `CONFIRMATION_ALREADY_RESOLVED` with the resolution, and the same client that says the same
   * again gets its first answer. A connection that only looks on at the session (`observe`) is `FORBIDDEN`;
   * one that is attached to nothing may answer, since the socket has proved whose user it is, or the bearer
   * token has. With a `token`, which also `POST /confirm/<token>` over TCP takes, everything may be answered
   * that is offered but `modify`. Never refused for load.
   */
  "confirmation/respond": { params: ConfirmationRespondParams; result: ConfirmationRespondResult };
  /** Opens a session in a workspace. */
  "session/create": { params: SessionCreateParams; result: SessionCreateResult };
  /** Sessions, the one that was active last first. */
  "session/list": { params: SessionListParams; result: SessionListResult };
  /** One session with its contexts. */
  "session/get": { params: SessionIdParams; result: SessionGetResult };
  /** What the agent of a context has been told and has said, in order. */
  "session/history": { params: SessionHistoryParams; result: SessionHistoryResult };
  /**
   * Lets the models of a session's contexts read a summary of what lies long back, without `agent` of all
   * contexts. Waits for the runs before it, and for the end. The history keeps every message.
   */
  "session/compact": { params: SessionContextParams; result: SessionCompactResult };
  /** Lets them begin anew. The history keeps every message. */
  "session/clear": { params: SessionContextParams; result: SessionClearResult };
  /** Changes what a session is called, or its default agent. */
  "session/update": { params: SessionUpdateParams; result: SessionChangeResult };
  /**
   * Ends a session's runs and takes no more; its history stays readable, but an ephemeral session is removed.
   */
  "session/close": { params: SessionIdParams; result: SessionChangeResult };
  /** Removes a session and everything in it. Refused while a run of it lives. */
  "session/delete": { params: SessionIdParams; result: SessionDeleteResult };
  /**
   * Follows a session, or with `"*"` all: what is (a snapshot, or the events from a cursor on), then what
   * happens, without gap or repeat. Those who are attached to the same session are told of it by
   * `signal.presence`.
   */
  "session/attach": { params: SessionAttachParams; result: SubscriptionId };
  /** Ends an attachment. */
  "session/detach": { params: SessionDetachParams; result: DetachResult };
  /** Puts back files that calls of the session changed, byte for byte. */
  "session/undo": { params: SessionUndoParams; result: SessionUndoResult };
  /**
   * Follows the log: the events from a place on, `signal.caughtUp`, then what happens, without gap or repeat.
   * A session or run that never was is refused, so that a slip of the pen is not waited for.
   */
  "events/subscribe": { params: EventsSubscribeParams; result: SubscriptionId };
  /** Ends a subscription. */
  "events/unsubscribe": { params: EventsUnsubscribeParams; result: UnsubscribeResult };
  /** Acknowledges everything up to a `seq` for the subscription's consumer. Answers when that is durable. */
  "events/ack": { params: EventsAckParams; result: EventsAckResult };
  /** The log by page. */
  "events/list": { params: EventsListParams; result: EventsListResult };
  /** Traces, newest first: each is a run that a client started, with all runs below it. */
  "trace/list": { params: TraceListParams; result: TraceListResult };
  /**
   * The spans of a run and of all below it, in the order in which they ended; those that are still open come
   * last. They are computed from the log, so every run has them.
   */
  "trace/get": { params: TraceGetParams; result: TraceGetResult };
  /** A trace as a document, piece by piece: the texts of all pages, one after the other, are it. */
  "trace/export": { params: TraceExportParams; result: TraceExportResult };
}

/** Methods that answer with a subscription's id; `event` notifications follow. */
export type SubscriptionMethod = "session/attach" | "events/subscribe";

/** Every fact by its `type`: what its `data` is. */
export interface Events {
  /** A session was opened. */
  "session.created": SessionCreated;
  /** What people call a session, or its default agent, changed; the data is how it is now. */
  "session.updated": SessionUpdated;
  /** A session takes no more work. Its runs have ended before. */
  "session.closed": SessionClosed;
  /** A session and everything in it was removed; of its events only this one is left. */
  "session.deleted": SessionDeleted;
  /**
   * A run waits: for its turn in its context, or for one of the places that runs share. A run that waits
   * before it begins carries everything it needs in this event.
   */
  "run.queued": RunQueued;
  /** A run began. Everything it needs is in this event; editing files changes nothing for it. */
  "run.started": RunStarted;
  /**
   * Somebody said something to a living run. The first event of a message says that it is kept, the second in
   * which turn the model got it.
   */
  "run.steered": RunSteered;
  /** The run holds still: nothing can be written. It goes on by itself, which `run.resumed` tells. */
  "run.parked": RunParked;
  /** The run goes on: the daemon was restarted while it was alive, or it was parked. */
  "run.resumed": RunResumed;
  /** The run stops: open calls end first, then comes the grace turn or the end. */
  "run.stopping": RunStopping;
  /** The run is over. Exactly one a run, and nothing of the run after it. */
  "run.completed": RunCompleted;
  /** The servers of the run's tools tell of other ones than they did when it began. */
  "run.toolsChanged": RunToolsChanged;
  /** A turn began: one model call and the tool calls it asks for. */
  "turn.started": TurnStarted;
  /** Every call of the turn has ended. */
  "turn.completed": TurnCompleted;
  /** The model was asked. */
  "model.started": ModelStarted;
  /** The model failed in passing and will be asked again; clients drop the partial text. */
  "model.retrying": ModelRetrying;
  /** The model answered; `text` is the whole. */
  "model.completed": ModelCompleted;
  /** What the model thought. */
  "thought": ModelThought;
  /** A message of the daemon's own was added to the context, to put the model back on its way. */
  "context.nudged": ContextNudged;
  /**
   * The model was given the context of the editor (IDE) of the person who asks: what it shows, or what has
   * changed there.
   */
  "ide.contextShared": IdeContextShared;
  /**
   * A side call began: the daemon itself asks a model, for something beside the turns. One at a time; the run
   * goes on once it is over.
   */
  "sideCall.started": SideCallStarted;
  /**
   * A side call is over: what the model answered, and what that used. It may have taken several requests, or
   * none.
   */
  "sideCall.completed": SideCallCompleted;
  /** The run's model cannot go on, and the next one of `models.fallback` takes over. */
  "model.fallback": ModelFallback;
  /** The run's model was to be chosen by what is asked for (`auto`), and is this one. */
  "model.routed": ModelRouted;
  /**
   * The older part of a context was replaced by a summary for its model, or why not. The history keeps every
   * message.
   */
  "context.compressed": ContextCompressed;
  /** The context begins anew for its model. The history keeps every message. */
  "context.cleared": ContextCleared;
  /** The run goes round in circles. */
  "loop.detected": LoopDetected;
  /** Four fifths of a budget are used up. Once a run and budget, and once more after it was raised. */
  "budget.warning": BudgetWarning;
  /** A person allowed the run more than its budget, and it goes on. */
  "budget.raised": BudgetRaised;
  /** A tool call changed its state. The descriptive fields are on the first, result or error on the last. */
  "tool.state": ToolState;
  /**
   * A client that lends the tool is asked to answer a call by `tools/result`; stands right after `executing`.
   * Everybody sees it, and the client under `clientId` acts on it. Told again when that client was away
   * meanwhile, or the daemon: under its `callId` it is the same call.
   */
  "tool.clientCall": ToolClientCall;
  /** The run's plan was replaced as a whole; stands right before the end of the call that did it. */
  "todos.updated": TodosUpdated;
  /** A call waits for a person. Everything that is needed to answer is in it. */
  "confirmation.requested": ConfirmationRequested;
  /** The question is another one now: an answer to the older one is stale. */
  "confirmation.revised": ConfirmationRevised;
  /** A person has changed the call that is asked about, and hooks are asked about that first. */
  "confirmation.edited": ConfirmationEdited;
  /** The question is over, and this is who decided what. Exactly one each. */
  "confirmation.resolved": ConfirmationResolved;
  /**
   * Every open call of the run waits for a person, directly or through a run it called; or not any more.
   * Meanwhile its clock stands still.
   */
  "run.waiting": RunWaiting;
  /** A hook has been at work for a second and goes on; of one that answers sooner only `hook.fired` tells. */
  "hook.started": HookStarted;
  /** A hook was asked or told at a point of the run. What came of it stands in the same transaction. */
  "hook.fired": HookFired;
  /** A call changed a file. Stands right before the call's end. */
  "file.changed": FileChanged;
  /** A change was undone. */
  "file.restored": FileRestored;
  /** A fact was written to a memory file. */
  "memory.saved": MemorySaved;
  /**
   * A model was given a skill. Stands right before the end of the call that asked for it, or behind the run's
   * first event.
   */
  "skill.activated": SkillActivated;
  /** Other rules hold from now on. */
  "policy.changed": PolicyChanged;
  /** A person said whether a workspace's own agents, rules and settings count. */
  "workspace.trusted": WorkspaceTrusted;
  /**
   * A program that the settings name may be run with these files, and with no others in their place: it is
   * run for the first time, or a person has acknowledged what changed.
   */
  "program.noted": ProgramNoted;
  /** A person said that nothing in a folder is an agent's any more, though agents have worked there. */
  "folder.forgotten": FolderForgotten;
  /**
   * A person installed, enabled, disabled or removed an extension. What it brings along counts from the next
   * run and turn on.
   */
  "extension.changed": ExtensionChanged;
  /** Settings were read anew, and these have other values than before. */
  "config.changed": ConfigChanged;
  /**
   * Agents' files were saved, came or went: the user's, or those of a workspace that is in use. What begins
   * from now on is as they say; what has begun keeps what it began with. What people trust is told by
   * `workspace.trusted`.
   */
  "agents.changed": AgentsChanged;
  /** A server of the Model Context Protocol is there now, or is not. */
  "mcp.serverState": McpServerStateChanged;
  /** A server told its tools, at first or because they changed. */
  "mcp.toolsChanged": McpToolsChanged;
  /** A prompt that named no agent went to one, by its triggers or because it is the usual one. */
  "route.selected": RouteSelected;
  /** Something is not as its author thinks, and the work goes on. */
  "warning": DaemonWarning;
}

/** Everything else that is sent as `event`, by its `type`: deltas, snapshots, signals. Not stored. */
export interface Signals {
  /** More of the text that a model is writing. Sent when the subscription asked for `deltas`. */
  "model.textDelta": StreamDelta;
  /** More of what a model is thinking. Sent when the subscription asked for `deltas`. */
  "model.thoughtDelta": StreamDelta;
  /**
   * More of what a call puts out while it runs: of a call that another agent answers, the subject of each
   * thought of its run, a line each. Sent when the subscription asked for `deltas`.
   */
  "tool.output": OutputDelta;
  /** How far a call is, as the server says it that runs it. Sent when the subscription asked for `deltas`. */
  "signal.progress": ProgressSignal;
  /**
   * What is. The first notification of an attachment from `now`, and of a subscription whose cursor is gone
   * when it said `onGone: "snapshot"`.
   */
  "signal.snapshot": Snapshot;
  /** Everything that was in the log when the subscription began has been sent. */
  "signal.caughtUp": CaughtUp;
  /** Somebody attached, detached, changed what it says of itself, or is gone. Comes on attachments. */
  "signal.presence": PresenceSignal;
  /**
   * An open question is for this client now, and was not when it was sent: it came back, can show more than
   * before, or those who were to be asked first did not answer. Comes on attachments, also when one that
   * began at a cursor has caught up; of a question that its snapshot had no room for as well.
   */
  "signal.confirmation": ConfirmationRecord;
  /** Somebody reads a question, or nobody does any more. Comes on attachments. */
  "signal.claim": ClaimSignal;
  /**
   * A request had a parameter that nobody knows; it was ignored. Said once a connection, method and field,
   * after the response, and belongs to no subscription.
   */
  "signal.unknownField": UnknownField;
}

/** The code of each kind of error. */
export interface ErrorCodes {
  PARSE_ERROR: -32700;
  INVALID_REQUEST: -32600;
  METHOD_NOT_FOUND: -32601;
  INVALID_PARAMS: -32602;
  INTERNAL_ERROR: -32603;
  REQUEST_CANCELLED: -32800;
  NOT_INITIALIZED: -31001;
  UNAUTHORIZED: -31002;
  FORBIDDEN: -31003;
  UNSUPPORTED_VERSION: -31004;
  OVERLOADED: -31005;
  SHUTTING_DOWN: -31006;
  PAYLOAD_TOO_LARGE: -31007;
  RATE_LIMITED: -31008;
  LIMIT_EXCEEDED: -31009;
  NOT_FOUND: -31010;
  GONE: -31011;
  ALREADY_EXISTS: -31012;
  CONFLICT: -31013;
  IDEMPOTENCY_CONFLICT: -31014;
  CURSOR_GONE: -31015;
  FILE_CONFLICT: -31016;
  STORAGE_FULL: -31017;
  STORAGE_ERROR: -31018;
  WORKSPACE_NOT_TRUSTED: -31019;
  AGENT_NOT_READY: -31020;
  INVALID_DEFINITION: -31021;
  INVALID_INPUT: -31022;
  MISSING_TEMPLATE_INPUT: -31023;
  SESSION_CLOSED: -31024;
  RUN_NOT_ACTIVE: -31025;
  BUSY: -31026;
  NO_MODEL: -31027;
  PROVIDER_AUTH: -31028;
  PROVIDER_LIMIT: -31029;
  PROVIDER_ERROR: -31030;
  CONFIRMATION_ALREADY_RESOLVED: -31031;
  CONFIRMATION_STALE: -31032;
  OUTCOME_NOT_OFFERED: -31033;
}

/** A method's name. */
export type MethodName = keyof Methods;

/** What a client sends. Without `id` it is a notification, which is not answered. */
export interface RpcRequest<M extends MethodName = MethodName> {
  jsonrpc: "2.0";
  id: number | string;
  method: M;
  params: Methods[M]["params"];
}

export interface RpcSuccess<M extends MethodName = MethodName> {
  jsonrpc: "2.0";
  id: number | string;
  result: Methods[M]["result"];
}

/** `id` is null when the request could not be read. */
export interface RpcFailure {
  jsonrpc: "2.0";
  id: number | string | null;
  error: RpcError;
}

/** The answer to a request. Answers come when they are ready, in any order. */
export type RpcResponse<M extends MethodName = MethodName> = RpcSuccess<M> | RpcFailure;

/** Cancels a request that is open; `$/cancel_request` is the same. It is not answered itself. */
export interface CancelRequest {
  jsonrpc: "2.0";
  method: "$/cancelRequest";
  params: { id: number | string };
}

/** A fact: stored before it was sent, numbered, in order. */
export type EventEnvelope<T extends keyof Events = keyof Events> = {
  [K in T]: Omit<Envelope, "type" | "data" | "seq" | "at"> & {
    type: K;
    data: Events[K];
    seq: EventSeq;
    at: Timestamp;
  };
}[T];

/** What is no fact: a delta or a signal. */
export type SignalEnvelope<T extends keyof Signals = keyof Signals> = {
  [K in T]: Omit<Envelope, "type" | "data" | "seq" | "prev"> & { type: K; data: Signals[K] };
}[T];

/**
 * What a subscription sends, told apart by `type`. A newer daemon sends types that are not listed here: give a
 * `switch` over `type` a `default` that goes on, and take the `seq` of what you skip.
 */
export type KnownEnvelope = EventEnvelope | SignalEnvelope;

/** The one notification that the daemon sends. */
export interface EventMessage {
  jsonrpc: "2.0";
  method: "event";
  params: {
    /** Missing for signals that concern the connection, not a subscription. */
    subscription?: SubscriptionId;
    result: KnownEnvelope;
  };
}

/** Any line that the daemon sends outside of a batch. */
export type ServerMessage = RpcResponse | EventMessage;
