#!/usr/bin/env python3
"""Do planted secrets appear nowhere, whichever way they come in, and can ordinary texts that look like them still be read?

Usage: tests/interop/traces/planted.py BIN_DIR [--seed N] [--show-clear]
  BIN_DIR: where subagentd and subagent lie. Python's own library is enough; about ten seconds.
Forty secrets, made at random in the shapes that docs/security.md names, come by ten ways: prompts, words said to a run, the
agent's file, files that are read, arguments of tools, output of commands, hooks, what models and people answer, and an MCP server;
some are values of the daemon's environment, of key files, or match `redaction.patterns`. Then every file of the daemon (the
database is read raw, with its WAL, after `kill -9`), its log, all events and deltas, every form of the trace, what a collector was
sent, and what the commands print is searched for each secret, whole and in pieces; those that are known by their values also in
base64 and percent signs.
Copies that `subagent undo` keeps are no part of this (docs/security.md). A few more secrets are cases of their own (`further`):
lines of a private key behind `-`, numbers or `> `, what a server says of its tools, and paths that are written as base64.
Forty ordinary texts go the same ways, and each must be in the log of events as it was. Lines of the prompt must be found in each
place that shows texts, and so does a piece of a secret that is put there: the search looks at the right bytes. Exits 1 when
something is amiss.
"""
import argparse, base64, json, os, random, shlex, socket, string, subprocess, sys, threading, time, urllib.parse
import http.server

sys.dont_write_bytecode = True
from daemon import Daemon, Model, PATIENCE, put, told, wait_until

LETTERS = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
URL = LETTERS + "-_"
HEX = "0123456789abcdef"
# Whatever of a secret is shown has a piece of so many characters, if it is a little longer; no other text has one by chance.
PIECE = 12
# Searched for in other writings, too: what is known by its value, and what the daemon itself writes as base64.
KNOWN = {"env value", "env phrase", "env address", "key file", "mcp env", "odd-paths"}
# Events have only a digest of the first.
WAYS = ["agent", "prompt", "steer", "file", "output", "argument", "hook", "model", "person", "mcp"]


def some(chance, alphabet, count):
    """With a digit and a letter, as keys have them."""
    while True:
        text = "".join(chance.choice(alphabet) for _ in range(count))
        if any(it.isdigit() for it in text) and any(it.isalpha() for it in text) and text[0].isalnum() and text[-1].isalnum():
            return text


def shaped(chance):
    """Kind, the text that it stands in (`@` is the secret's place), and the part that nobody may guess."""
    s = lambda alphabet, count: some(chance, alphabet, count)
    jwt = lambda: f"{s(URL, 43)}"
    pem = "\n".join(s(LETTERS, 64) for _ in range(4))
    claims = base64.urlsafe_b64encode(json.dumps({"sub": s(LOWER, 20)}).encode()).decode().rstrip("=")
    return [
        ("aws id", "id AKIA@ end", s(UPPER, 16)), ("aws secret", "aws_secret_access_key = @", s(LETTERS, 40)),
        ("github", "ghp_@", s(LETTERS, 36)), ("github fine", f"token: github_pat_{s(LETTERS, 22)}_@", s(LETTERS, 59)),
        ("gitlab", "use glpat-@ now", s(LETTERS, 20)), ("slack", "xoxb-123456789012-@", s(LETTERS, 24)),
        ("slack hook", f"https://hooks.slack.com/services/T{s(UPPER, 8)}/B{s(UPPER, 8)}/@", s(LETTERS, 24)),
        ("google", "key=AIza@&a=b", s(LETTERS, 35)), ("openai", "sk-proj-@", s(LETTERS, 40)),
        ("anthropic", "(sk-ant-api03-@)", s(LETTERS, 60)), ("stripe", "sk_live_@", s(LETTERS, 24)),
        ("npm", "//registry.example.org/:_authToken=npm_@", s(LETTERS, 36)), ("pypi", "pypi-AgEIcHlwaS5vcmc@", s(LETTERS, 60)),
        ("sendgrid", f"SG.{s(LETTERS, 22)}.@", s(LETTERS, 43)), ("digitalocean", "dop_v1_@", s(HEX, 64)),
        ("docker", "docker login -p dckr_pat_@", s(LETTERS, 27)), ("shopify", "shpat_@", s(HEX, 32)),
        ("vault", "hvs.@", s(LETTERS, 30)), ("grafana", "glsa_@_0a1b2c3d", s(LETTERS, 32)),
        ("linear", "lin_api_@", s(LETTERS, 40)), ("huggingface", "hf_@", s(LETTERS, 34)), ("groq", "gsk_@", s(LETTERS, 52)),
        ("new relic", "NRAK-@", s(UPPER, 27)), ("databricks", "dapi@", s(HEX, 32)),
        ("telegram", "https://api.telegram.org/bot1234567890:AA@/getMe", s(LETTERS, 33)),
        ("azure", "AccountName=x;AccountKey=@==;EndpointSuffix=y", s(LETTERS, 86)),
        ("jwt", f"eyJhbGciOiJIUzI1NiJ9.{claims}.@", jwt()),
        ("private key", "-----BEGIN PRIVATE KEY-----\n@\n-----END PRIVATE KEY-----", pem),
        ("url password", "postgres://ada:@@db.example.org/x", s(LETTERS, 18)),
        ("bearer", "Authorization: Bearer @", s(LETTERS, 32)), ("basic", "authorization: Basic @==", s(LETTERS, 22)),
        ("api key", 'api_key = "@"', s(LETTERS, 32)), ("access token", '{"access_token": "@"}', s(LETTERS, 32)),
        ("client secret", "client_secret: @", s(LETTERS, 40)),
        ("env value", "it is @ here", s(LETTERS, 12) + "/+?=" + s(LETTERS, 12)),
        ("env phrase", "the word is @.", " ".join(s(string.ascii_lowercase + "1", 9) for _ in range(3))),
        ("env address", "log in with @", s(LETTERS, 20)), ("key file", "key @", s(LETTERS, 44)),
        ("mcp env", "given @", s(LETTERS, 30)), ("pattern", "for cust-@", "".join(chance.choice(string.digits) for _ in range(12))),
    ]


def further(chance):
    """Secrets of their own for what has been missed before, each a case: what it is about, and as `shaped`."""
    lines = lambda: "\n".join(some(chance, LETTERS, 64) for _ in range(4))
    pem = lambda: ("-----BEGIN PRIVATE KEY-----\n@\n-----END PRIVATE KEY-----", lines())
    token = lambda: ("ghp_@", some(chance, LETTERS, 36))
    return {"removed-lines": pem(), "numbered-lines": pem(), "quoted-lines": pem(), "tool-descriptions": token(),
            "odd-paths": token()}


def ordinary(chance):
    """None of these is a secret. Each has a word that no other has."""
    s = lambda alphabet, count: some(chance, alphabet, count)
    w = lambda: "".join(chance.choice(string.ascii_lowercase) for _ in range(7))
    uuid = "-".join(s(HEX, n) for n in (8, 4, 4, 4, 12))
    return [
        f"commit {s(HEX, 40)}", f"sha256:{s(HEX, 64)}", f"sha256-{s(LETTERS, 42)}=", uuid, f"ghp_{w()} is a prefix",
        f"npm_config_registry_{w()}", f"sk-loading-spinner-{w()}-item", f"task-force-{w()}", f"hf_hub_download({w()})",
        f"AKIA and ASIA_{w()}", f"eyJhbGciOiJIUzI1NiJ9 alone, {w()}", f"Authorization: Bearer tokens are described in {w()}.",
        "Authorization: Bearer ${TOKEN_%s}" % w(), f"https://example.org:8080/a@{w()}?c=d:e@f", f"git@github.com:{w()}/b.git",
        "postgres://%s:${PASSWORD}@host/db" % w(), f"postgres://{w()}@host/db", f"api_key = settings.{w()}_from_environment()",
        f"access_token = get_{w()}_from_oauth2_provider(code)", f"client_secret = {w()}_password_v2_prod.value",
        f"apiKey: string; {w()}: AuthorizationService", f"the monkey {w()} has a key, a token and a secret",
        f"-----BEGIN CERTIFICATE----- {w()}",
        f"a file that begins with -----BEGIN PRIVATE KEY----- {w()}",
        f"/home/ada/.ssh/{w()}_ed25519", f"xoxo-hugs-{w()}", f"glpat- {w()}", f"SG.{w()}.example.org",
        f"version 1.2.3-{w()}.4+{s(HEX, 8)}",
        f"{w()}@example.org:22", f"2026-11-28T03:04:05Z {w()}", f"fe80::{s(HEX, 4)}:1 {w()}", f"#{s(HEX, 6)} {w()}",
        f"a bearer of news {w()}", f"id=desk-booking-{w()}-v2-production", f"const token: &str = \"{w()}\";",
        f"risk-averse-investors-of-{w()}", f"the password of {w()} is gone", f"cust-12 {w()}", f"dapi/{w()}/v1",
    ]


SERVER = r'''
import json, os, sys
text, agent = open(sys.argv[1]).read(), os.environ.get("ECHO_API_KEY")
print(text, file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, params = asked["method"], asked.get("params") or {}
    if method == "initialize":
        about = {"name": "echo", "version": "1"}
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        result = {"tools": [{"name": name, "description": sys.argv[2], "inputSchema": schema} for name in ("echo", "fail")]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": text + (agent or "")}], "isError": params["name"] == "fail"}
        if params["name"] == "echo":
            result["structuredContent"] = {"text": text}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": text}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
'''
HOOK = r'''
import json, sys
asked, text = json.load(sys.stdin), open(sys.argv[1]).read()
event = asked["hook_event_name"]
if sys.argv[2] == "fail":
    print(text, file=sys.stderr)
    sys.exit(1)
told = {"hookEventName": event, "additionalContext": text}
if sys.argv[2] == "deny":
    told = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": text}
print(json.dumps({"systemMessage": text, "hookSpecificOutput": told}))
'''


class Sink:
    """Takes everything that is posted to it, and keeps it."""

    def __init__(self):
        self.bodies = {}
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 30

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                sink.bodies.setdefault(self.path, []).append(body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Listener(threading.Thread):
    """All lines of a subscription to everything, with texts while they are written."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.lines = []
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(str(daemon.socket))
        request = {"jsonrpc": "2.0", "id": 1, "method": "events/subscribe", "params": {"from": "start", "deltas": True}}
        self.connection.sendall(json.dumps(request).encode() + b"\n")
        self.start()

    def run(self):
        try:
            for line in self.connection.makefile("rb"):
                self.lines.append(line)
        except OSError:
            pass


def forms(kind, secret):
    """The writings of a secret that are searched for, by name."""
    raw = secret.encode()
    shown = {"as it is": raw, "in JSON": json.dumps(secret)[1:-1].encode()}
    if kind in KNOWN:
        shown["with percent signs"] = urllib.parse.quote(secret, safe="").encode()
        # Of base64 there are three ways to begin; the ends depend on what stands around.
        for shift in range(3):
            text = base64.b64encode(b"x" * shift + raw)[4 if shift else 0:-4]
            shown[f"in base64, {shift}"] = text
            shown[f"in base64 of addresses, {shift}"] = text.replace(b"+", b"-").replace(b"/", b"_")
    for line in secret.splitlines():
        for at in range(0, len(line) - PIECE + 1, 4):
            shown[f"from its character {at}"] = line[at:at + PIECE].encode()
    return shown


def found(places, secrets):
    """One line a place: which secrets it has, and the first of them."""
    faults = []
    for place, content in places.items():
        kinds, first = [], None
        for kind, secret in secrets:
            hits = ((form, content.find(text), len(text)) for form, text in forms(kind, secret).items())
            hit = next((hit for hit in hits if hit[1] >= 0), None)
            if hit:
                kinds.append(kind)
                first = first or f"{kind} {hit[0]}: {content[max(0, hit[1] - 60):hit[1] + hit[2] + 20]!r}"
        if kinds:
            faults.append(f"{place} has {len(kinds)} ({', '.join(kinds[:5])}), {first}")
    return faults


def script(texts, further):
    def reply(agent, prompt, step):
        if agent != "keeper":
            return "I have no script."
        argument = texts["argument"]
        steps = [
            (texts["model"], [("read_file", {"path": "notes.txt"}),
                              ("run_shell_command", {"command": "cat output.txt; cat output.txt >&2; base64 output.txt; exit 1"})]),
            ("", [("write_file", {"path": "out.txt", "content": argument}),
                  ("run_shell_command", {"command": f"printf %s {shlex.quote(argument)}; sleep 1"}),
                  ("run_shell_command", {"command": "cat -n numbered.txt; sed 's/^/> /' quoted.txt"})]),
            ("", [("mcp.echo.echo", {"text": argument}), ("mcp.echo.fail", {"text": argument}),
                  ("read_file", {"path": f"of\n{further['odd-paths']}\n"})]),
            ("", [("ask_user", {"questions": [{"question": argument[:1500]}]}),
                  ("write_file", {"path": "denied.txt", "content": "x"})]),
            ("", [("write_file", {"path": "removed.txt", "content": "nothing is left\n"}), ("grep", {"pattern": "notes-|file-"})]),
            texts["model"],
        ]
        return steps[min(step, len(steps) - 1)]
    return reply


def respond(daemon, asked, text):
    """A person allows what is written, answers and denies with a text."""
    question = {"confirmationId": asked["confirmationId"], "digest": asked["digest"]}
    if asked.get("tool") == "ask_user":
        daemon.rpc("confirmation/respond", **question, outcome="answer", answers=[text])
    elif "denied" in asked["title"]:
        daemon.rpc("confirmation/respond", **question, outcome="deny", message=text)
    else:
        daemon.rpc("confirmation/respond", **question, outcome="allowOnce", message=text)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--show-clear", action="store_true", help="print what each place has of one ordinary text")
    options = options.parse_args()
    print(f"planted --seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    began = time.monotonic()
    planted, harmless = shaped(chance), ordinary(chance)
    assert len(planted) == len(harmless) == 40
    secret = {kind: text for kind, _, text in planted}
    lines = [around.replace("@", text, 1) for _, around, text in planted] + harmless
    missed = further(chance)
    about = {name: around.replace("@", text) for name, (around, text) in missed.items()}
    texts = {way: "".join(f"{way}-{at:02} {line}\n" for at, line in enumerate(lines)) for way in WAYS}

    sink = Sink()
    with Model(script(texts, about)) as model:
        providers = {"scripted": model.providers["scripted"] | {"key": {"file": "KEY"}}}
        daemon = Daemon(options.programs, agents={}, files={
            "notes.txt": texts["file"], "output.txt": texts["output"],
            **{f"{name}.txt": f"{about[f'{name}-lines']}\n" for name in ("removed", "numbered", "quoted")},
        }, variables={
            "SERVICE_TOKEN": secret["env value"], "VAULT_PASSPHRASE": secret["env phrase"],
            "DATABASE_URL": f"postgres://ada:{secret['env address']}@db.example.org/x", "ECHO_VALUE": secret["mcp env"],
            "OTLP_HEADER": secret["bearer"], "RUST_LOG": "debug",
        })
        put(daemon.home / "key", secret["key file"])
        os.chmod(daemon.home / "key", 0o600)
        for name, text in (("server.py", SERVER), ("hook.py", HOOK), ("hook.txt", texts["hook"]), ("mcp.txt", texts["mcp"])):
            put(daemon.home / "programs" / name, text)
        providers["scripted"]["key"]["file"] = str(daemon.home / "key")
        program = lambda name, *more: shlex.join([sys.executable, str(daemon.home / "programs" / name), *map(str, more)])
        hook = lambda how: {"type": "command", "command": program("hook.py", daemon.home / "programs/hook.txt", how)}
        put(daemon.settings, json.dumps({
            "providers": providers, "redaction": {"patterns": [r"cust-\d{12}"]},
            "mcpServers": {"echo": {
                "command": sys.executable, "trust": True, "env": {"ECHO_API_KEY": "${ECHO_VALUE}"},
                "args": [*(str(daemon.home / "programs" / name) for name in ("server.py", "mcp.txt")), about["tool-descriptions"]]}},
            "hooks": {
                "UserPromptSubmit": [{"hooks": [hook("add")]}],
                "PreToolUse": [{"matcher": "grep", "hooks": [hook("deny")]}],
                "PostToolUse": [{"matcher": "read_file", "hooks": [hook("add")]},
                                {"matcher": "write_file", "hooks": [hook("fail")]}],
                "Stop": [{"hooks": [hook("fail")]}],
            },
            "tracing": {"backend": ["sqlite", "otlp", "file", "console"],
                        "otlp": {"endpoint": sink.url, "headers": {"authorization": "Bearer ${OTLP_HEADER}"}}},
        }))
        agent = "---\nkind: agent\nname: keeper\ndescription: Keeps.\ncompletion: message\nmcp: {servers: [echo]}\n" \
                "tools: [read_file, write_file, run_shell_command, grep, ask_user, mcp.echo.*]\n---\nYou are SCRIPT:keeper.\n"
        put(daemon.home / "config/subagentd/agents/keeper.md", agent + texts["agent"].replace("${", "$${"))
        with daemon:
            listener = Listener(daemon)
            command = [daemon.programs / "subagent", "--no-spawn", "run", "keeper", "--model", model.name, "--trace",
                       "-p", texts["prompt"]]
            run = subprocess.Popen(command, cwd=daemon.work, env=daemon.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            asked, is_steered, printed = [], False, {}
            reader = threading.Thread(target=lambda: printed.update(zip(("stdout", "stderr"), run.communicate())), daemon=True)
            reader.start()
            deadline = time.monotonic() + PATIENCE
            while reader.is_alive() and time.monotonic() < deadline:
                for question in daemon.rpc("confirmation/list")["confirmations"]:
                    if not is_steered:
                        daemon.rpc("run/steer", runId=question["runId"], text=texts["steer"])
                        is_steered = True
                    asked.append(json.dumps(question))
                    respond(daemon, question, texts["person"])
                time.sleep(0.1)
            if reader.is_alive():
                run.kill()
                raise RuntimeError("the run did not end")
            runs = daemon.rpc("run/list")["runs"]
            if not runs:
                raise RuntimeError(f"no run began: {printed}")
            record = runs[0]
            id, session = record["runId"], record["sessionId"]
            wait_until("everything was sent", lambda: daemon.gauge("subagentd_otlp_backlog_events") == 0)
            time.sleep(2)  # lines of the log are sent within a second
            logged = daemon.companion("logs").stdout
            listener.connection.close()
            daemon.kill()
            places = {f"`run --trace`, {name}": text for name, text in printed.items()}
            for file in sorted(daemon.home.rglob("*")):
                inner = file.relative_to(daemon.home)
                # Copies for `subagent undo` are as the files were (docs/security.md).
                if file.is_file() and inner.parts[0] in ("state", "cache", "data", "run") and "undo" not in inner.parts:
                    places[f"the file {inner}"] = file.read_bytes()
            # After a kill most of it is in the second of them.
            parts = [f"the file state/subagentd/subagentd.db{end}" for end in ("", "-wal")]
            places["the database, raw"] = b"".join(places.pop(part, b"") for part in parts)
            daemon.start()
            events = daemon_events(daemon)
            places |= {
                "the daemon's log on stderr": daemon.log.read_bytes(), "`subagent logs`": logged.encode(),
                "events and deltas of a subscription": b"".join(listener.lines), "events/list": events.encode(),
                "questions": "\n".join(asked).encode(), "the run's record": json.dumps(daemon.rpc("run/get", runId=id)).encode(),
                "trace/get": json.dumps(daemon.pages("trace/get", "spans", runId=id)).encode(),
                "/metrics": daemon.metrics().encode(), "settings": json.dumps(daemon.rpc("config/get")).encode(),
            }
            for format in ("json", "jsonl", "otlp", "chrome", "markdown"):
                places[f"trace/export {format}"] = daemon.export(format, runId=id).encode()
            for path, bodies in sink.bodies.items():
                places[f"what the collector got at {path}"] = b"\n".join(bodies)
            for words in (["trace", "show", id], ["trace", "tail", id, "--format", "json"], ["trace", "list"],
                          ["sessions", "history", session, "--format", "json"], ["approvals"], ["hooks", "list"], ["mcp", "status"],
                          ["status", "--format", "json"]):
                done = daemon.companion(*words)
                places[f"`subagent {' '.join(words[:2])}`"] = (done.stdout + done.stderr).encode()
            calls = {event["data"]["callId"] for event in json.loads(events) if "callId" in event.get("data", {})}
            outputs = []
            for call in sorted(calls):
                done = daemon.companion("tools", "output", call)
                outputs.append(done.stdout + done.stderr)
            places["`subagent tools output`"] = "\n".join(outputs).encode()
    sink.end()
    size = sum(map(len, places.values()))
    print(f"    {len(places)} places, {size / 1e6:.1f} MB, {time.monotonic() - began:.0f} s", flush=True)

    everything = [(kind, text) for kind, _, text in planted]
    is_wrong = told("planted-secrets-hidden", found(places, everything))
    for name, (_, text) in missed.items():
        is_wrong |= told(f"planted-in-{name}", found(places, [(name, text)]))
    log = json.loads(events)
    read = json.dumps([event.get("data") for event in log], ensure_ascii=False)
    faults = [f"{way}: {line}" for way in WAYS[1:] for at, line in enumerate(lines) if at >= 40
              and json.dumps(f"{way}-{at:02} {line}", ensure_ascii=False)[1:-1] not in read and
              json.dumps(json.dumps(f"{way}-{at:02} {line}", ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1] not in read]
    is_wrong |= told("planted-ordinary-readable", faults)
    # Lines of the prompt begin with this, whatever is hidden of them; it is found wherever the prompt stands.
    clear = [("ordinary text", f"prompt-{at:02} ") for at in (2, 3, 4)]
    has = {place for place, content in places.items() if any(text.encode() in content for _, text in clear)}
    texts_are_in = ("events", "trace/", "`run --trace`, stderr", "the database", "`subagent trace tail", "`subagent sessions",
                    "what the collector got at /v1/traces", "the daemon's log")
    needed = [place for place in places if place.startswith(texts_are_in) or place.endswith(".jsonl")]
    is_wrong |= told("planted-search-sees-texts", [f"{place} has nothing of the prompt" for place in needed if place not in has])
    spoilt = found(places | {"a place with one": f"x{planted[2][2][4:24]}y".encode()}, [(planted[2][0], planted[2][2])])
    is_seen = any("a place with one" in fault for fault in spoilt)
    is_wrong |= told("planted-one-in-clear-noticed", [] if is_seen else ["it was not found"])
    if options.show_clear:
        for place in places:
            print(f"    {'has' if place in has else '   '} {len(places[place]):9} {place}")
    return 1 if is_wrong else 0


def daemon_events(daemon):
    events, after = [], None
    while True:
        page = daemon.rpc("events/list", filter={}, limit=1000, **({"from": after} if after is not None else {}))["events"]
        events += page
        if len(page) < 1000:
            return json.dumps(events, ensure_ascii=False)
        after = page[-1]["seq"]


if __name__ == "__main__":
    sys.exit(main())
