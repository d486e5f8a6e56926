"""A daemon with a home of its own that can be killed and started again, a model that answers by a script, and what its traces
say. Used by the other scripts here."""
import http.server, itertools, json, os, pathlib, random, shutil, signal, socket, subprocess, sys, tempfile, threading, time, uuid

# Runs here take seconds; a machine under load takes longer.
PATIENCE = 120
# A daemon that keeps a connection open must not keep the end of the test.
IDLE_SECONDS = 30

LEAD = """---
kind: agent
name: lead
description: Leads.
completion: message
tools: [read_file, write_file, run_shell_command, reader, checker]
---
You are SCRIPT:lead.
"""
READER = """---
kind: agent
name: reader
description: Reads.
tools: [read_file, grep]
---
You are SCRIPT:reader.
"""
CHECKER = """---
kind: agent
name: checker
description: Checks.
tools: [list_directory, run_shell_command]
---
You are SCRIPT:checker.
"""
AGENTS = {"lead": LEAD, "reader": READER, "checker": CHECKER}
# Writing is asked about, whatever else is known of it; nothing else is in the way.
RULES = """[[rule]]
tool = "*"
decision = "allow"

[[rule]]
tool = "write_file"
decision = "ask"
priority = 500
"""


class Answered(Exception):
    """An error that the daemon answered."""


class Daemon:
    """Ends, and is gone, with the block."""

    def __init__(self, programs, settings=None, agents=None, files=None, variables=None, rules=RULES, arguments=()):
        self.programs, self.arguments = pathlib.Path(programs).resolve(), arguments
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
        cache.mkdir(parents=True, exist_ok=True)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="interop-traces-", dir=cache)).resolve()
        self.work, self.state = self.home / "work", self.home / "state/subagentd"
        self.socket = self.home / "run/subagentd/subagentd.sock"
        self.settings = self.home / "config/subagentd/settings.json"
        self.log = self.home / "daemon.log"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": f"{self.home}/run", "LANG": "C.UTF-8",
            "XDG_STATE_HOME": f"{self.home}/state", "XDG_CONFIG_HOME": f"{self.home}/config",
            "XDG_CACHE_HOME": f"{self.home}/cache", "XDG_DATA_HOME": f"{self.home}/data", **(variables or {}),
        }
        self.work.mkdir()
        os.mkdir(f"{self.home}/run", 0o700)
        put(self.settings, json.dumps(settings or {}))
        put(self.home / "config/subagentd/policies/all.toml", rules)
        for name, text in (AGENTS if agents is None else agents).items():
            put(self.home / f"config/subagentd/agents/{name}.md", text)
        for name, text in (files or {}).items():
            put(self.work / name, text)
        self.process = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self):
        ready, write = os.pipe()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.programs / "subagentd", "--ready-fd", str(write), *self.arguments],
                                            pass_fds=[write], stderr=log, env=self.environment, cwd=self.home)
        os.close(write)
        # It writes `ready` once it listens, or ends, which closes the pipe.
        with os.fdopen(ready) as pipe:
            if pipe.readline() != "ready\n":
                raise RuntimeError(f"the daemon did not start: {self.log.read_text()[-2000:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def rpc(self, method, **params):
        """Asks until a daemon answers: it may have been killed just now. What has an effect gets an `idempotencyKey`."""
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(PATIENCE)
                    connection.connect(str(self.socket))
                    connection.sendall(request)
                    with connection.makefile("rb") as lines:
                        answer = json.loads(lines.readline() or b"null")
            except (ConnectionError, FileNotFoundError, BlockingIOError, json.JSONDecodeError):
                answer = None
            if answer is not None:
                if "error" in answer:
                    raise Answered(f"{method}: {json.dumps(answer['error'])}")
                return answer["result"]
            if deadline < time.monotonic():
                raise RuntimeError(f"no daemon answered {method}")
            time.sleep(0.05)

    def pages(self, method, key, **params):
        items, cursor = [], None
        while True:
            page = self.rpc(method, **params, **({"cursor": cursor} if cursor else {}))
            items += page[key]
            cursor = page.get("nextCursor")
            if not cursor:
                return items

    def companion(self, *arguments, **more):
        return subprocess.run([self.programs / "subagent", *arguments], cwd=self.work, env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE, **more)

    def begin(self, agent, model, prompt, **params):
        """A run in a session of its own: its id."""
        key = str(uuid.uuid4())
        return self.rpc("run/start", workspace=str(self.work), agent=agent, model=model, prompt=prompt, idempotencyKey=key,
                        **params)["runId"]

    def is_over(self, run):
        return self.rpc("run/get", runId=run)["state"] == "ended"

    def answer_questions(self, outcome="allowOnce"):
        """Whatever is open now."""
        for asked in self.rpc("confirmation/list")["confirmations"]:
            try:
                self.rpc("confirmation/respond", confirmationId=asked["confirmationId"], digest=asked["digest"], outcome=outcome)
            except Answered as error:
                # It was asked anew, or resolved, since it was listed.
                if not any(kind in str(error) for kind in ("STALE", "RESOLVED", "NOT_FOUND", "GONE", "BUSY")):
                    raise

    def metrics(self):
        """The body of /metrics, over the socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(self.socket))
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while more := connection.recv(65536):
                answer += more
        head, _, body = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head.splitlines()[0]:
            raise RuntimeError(f"/metrics: {head!r}")
        if b"chunked" in head.lower():
            pieces = []
            while body:
                size, _, body = body.partition(b"\r\n")
                pieces.append(body[:int(size, 16)])
                body = body[int(size, 16) + 2:]
            body = b"".join(pieces)
        return body.decode()

    def gauge(self, name):
        for line in self.metrics().splitlines():
            if line.split(" ")[0].split("{")[0] == name:
                return float(line.rsplit(" ", 1)[1])
        raise RuntimeError(f"no metric {name}")

    def export(self, format, **of):
        """A whole document."""
        return "".join(self.pages("trace/export", "text", format=format, **of))

    def spans(self, run):
        """Those of `trace/get` that have ended, each with what other programs know it by: `otlp`, a span of the export."""
        spans = [span for span in self.pages("trace/get", "spans", runId=run, limit=1000) if span.get("endUs") is not None]
        document = json.loads(self.export("otlp", runId=run))
        exported = [span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]
        if len(spans) != len(exported):
            raise RuntimeError(f"trace/get has {len(spans)} spans that ended, and trace/export {len(exported)}")
        for span, other in zip(spans, exported):
            times = (int(other["startTimeUnixNano"]) // 1000, int(other["endTimeUnixNano"]) // 1000)
            if times != (span["startUs"], span["endUs"]) or attributes_of(other).get("subagentd.run.id") != span["runId"]:
                raise RuntimeError(f"trace/export has {other['name']} where trace/get has {span['spanId']} {span['name']}")
            span["otlp"] = other
        return spans


def attributes_of(span):
    """Of a span of OTLP's JSON."""
    return {it["key"]: next(iter(it["value"].values())) for it in span.get("attributes", [])}


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def wait_until(what, condition, seconds=PATIENCE, every=0.1):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if deadline < time.monotonic():
            raise RuntimeError(f"waited {seconds} s in vain: {what}")
        time.sleep(every)
    return value


def pieces(text, size=11):
    """So small that a word comes in several."""
    return [text[at:at + size] for at in range(0, len(text), size)]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Model:
    """A server of Chat Completions on loopback. `script` makes the reply of an agent's name, the first prompt and the number of
    replies that it gave already: a text, or (text, [(tool, arguments)]). So it says the same again to a daemon that was killed."""

    TOKENS = {"prompt_tokens": 120, "completion_tokens": 26, "total_tokens": 146,
              "prompt_tokens_details": {"cached_tokens": 30}, "completion_tokens_details": {"reasoning_tokens": 9}}

    def __init__(self, script, chance=None, slowest=0.0):
        self.script, self.bodies = script, []
        chance = chance or random.Random(0)
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = IDLE_SECONDS

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.bodies.append(body)
                time.sleep(chance.uniform(0, slowest))
                answer = model.stream(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self):
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                # A daemon that was killed has hung up.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.providers = {"scripted": {"kind": "openai", "baseUrl": f"http://127.0.0.1:{self.server.server_port}/v1"}}
        self.name = "scripted/one"

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def stream(self, body):
        def text_of(message):
            content = message.get("content") or ""
            return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        messages = body["messages"]
        system = "".join(text_of(message) for message in messages if message["role"] in ("system", "developer"))
        agent = system.rsplit("SCRIPT:", 1)[1].split(".")[0] if "SCRIPT:" in system else ""
        asked = itertools.takewhile(lambda message: message["role"] != "assistant", messages)
        # What it is told of the folder comes before.
        prompt = "\n".join(text_of(message) for message in asked if message["role"] == "user").splitlines()[-1]
        step = sum(message["role"] == "assistant" for message in messages)
        reply = self.script(agent, prompt, step)
        text, calls = (reply, []) if isinstance(reply, str) else reply
        deltas = [{"role": "assistant", "content": ""}] + [{"content": piece} for piece in pieces(text)]
        for at, (tool, arguments) in enumerate(calls):
            function = {"name": tool, "arguments": ""}
            deltas.append({"tool_calls": [{"index": at, "id": f"call-{step}-{at}", "type": "function", "function": function}]})
            deltas += [{"tool_calls": [{"index": at, "function": {"arguments": piece}}]} for piece in pieces(json.dumps(arguments))]
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "one"}
        finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else "stop"}
        chunks = [chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks += [chunk | {"choices": [finish]}, chunk | {"choices": [], "usage": self.TOKENS}]
        return "".join(f"data: {json.dumps(it)}\n\n" for it in chunks) + "data: [DONE]\n\n"


def tree(agent, prompt, step):
    """What the three agents do, in 47 spans with HOOKS. A prompt ends with a number."""
    scripts = {
        "lead": [
            ("I ask both.", [("reader", {"prompt": "Read a.txt."}), ("checker", {"prompt": "Check it."}),
                             ("read_file", {"path": "a.txt"})]),
            ("Now I write.", [("write_file", {"path": f"out-{prompt.split()[-1]}.txt", "content": f"{prompt}\n"})]),
            ("", [("run_shell_command", {"command": "sleep 0.2; echo built"}), ("read_file", {"path": "missing.txt"})]),
            "All is done.",
        ],
        "reader": [
            ("", [("read_file", {"path": "a.txt"}), ("grep", {"pattern": "alpha"})]),
            ("", [("complete_task", {"result": "It says alpha."})]),
        ],
        "checker": [
            ("", [("list_directory", {"path": "."})]),
            ("", [("run_shell_command", {"command": "sleep 0.1; exit 3"})]),
            ("", [("complete_task", {"result": "It fails."})]),
        ],
    }
    steps = scripts.get(agent, ["I have no script."])
    return steps[min(step, len(steps) - 1)]


# They take time, so that a daemon can be killed meanwhile.
HOOKS = {
    "PreToolUse": [{"hooks": [{"type": "command", "command": "cat > /dev/null; sleep 0.05"}]}],
    "PostToolUse": [{"matcher": "read_file|write_file", "hooks": [{"type": "command", "command": "cat > /dev/null"}]}],
}


def told(name, faults):
    print(f"ran: {name}{' FAILED' if faults else ''}", flush=True)
    for fault in faults[:40]:
        print(f"    {fault}")
    return bool(faults)


def need(*modules):
    """The names in `modules`, or the end of the script where they are not installed."""
    missing = []
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if missing:
        print(f"skipped: not installed: {', '.join(missing)}")
        sys.exit(77)
