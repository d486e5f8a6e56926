#!/usr/bin/env python3
"""Does Arize Phoenix have every span exactly once, although the daemon is killed again and again and Phoenix is restarted?

Usage: tests/interop/traces/phoenix.py BIN_DIR http|grpc [--seed N] [--kills N]
  BIN_DIR: where subagentd and subagent lie. Needs PyPI's arize-phoenix (requirements.txt) and about two minutes.
Runs of three agents with tools, hooks and a question that is answered over the socket go on while the daemon is killed at random
moments (`kill -9`, ten times) and Phoenix is stopped twice in the middle. Phoenix writes what it confirmed a little later: it is
stopped with SIGTERM, so that it does. A third time it is killed, once nothing runs, the daemon knows that everything was
confirmed, and Phoenix's own answers have it all. In the end its database and its REST API must have what `trace/get` has: each
span once, with the same parent, name, status, times and tokens, shown as a model, tool or agent, and no other
span. Then each of SPOILS is done to what was read, and the comparison must notice it. Exits 1 when something is amiss, 77 when
Phoenix is not installed.
"""
import argparse, copy, datetime, json, os, pathlib, random, signal, sqlite3, subprocess, sys, tempfile, threading, time
import urllib.error, urllib.request

sys.dont_write_bytecode = True
from daemon import HOOKS, Daemon, Model, free_port, need, told, tree, wait_until

# At least so many are produced.
SPANS = 300
# Runs at the same time.
TOGETHER = 2
# It would listen on every address of the machine; and when it is stopped, it drops what it could not write in five seconds, which
# a machine under load takes for some thousand spans.
LAUNCHER = """
import grpc.aio._server as it, sys
listen = it.Server.add_insecure_port
it.Server.add_insecure_port = lambda self, address: listen(self, address.replace("[::]", "127.0.0.1"))
from phoenix.db.bulk_inserter import BulkInserter
BulkInserter.__init__.__kwdefaults__["shutdown_drain_sec"] = 60.0
from phoenix.server.main import main
sys.argv = ["phoenix", "serve"]
main()
"""


class Phoenix:
    """Its server, with SQLite in a folder of its own. Ends, and is gone, with the block."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="interop-phoenix-")
        self.place = pathlib.Path(self.folder.name)
        self.port, self.grpc_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.place), "PHOENIX_WORKING_DIR": str(self.place),
            "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(self.port), "PHOENIX_GRPC_PORT": str(self.grpc_port),
            "PHOENIX_TELEMETRY_ENABLED": "false", "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
            "PHOENIX_DISABLE_AGENT_ASSISTANT": "true", "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop(signal.SIGKILL)
        self.folder.cleanup()

    def start(self):
        with open(self.place / "phoenix.log", "ab") as log:
            self.process = subprocess.Popen([sys.executable, "-c", LAUNCHER], env=self.environment, cwd=self.place,
                                            stdout=log, stderr=log)
        wait_until("Phoenix is up", self.is_up)

    def is_up(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"Phoenix ended: {(self.place / 'phoenix.log').read_text()[-2000:]}")
        try:
            return urllib.request.urlopen(f"{self.url}/readyz", timeout=5).status == 200
        except OSError:
            return False

    def stop(self, by=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(by)
            self.process.wait(120)

    def complaints(self):
        """Lines of its log about spans that it could not write."""
        lines = (self.place / "phoenix.log").read_text(errors="replace").splitlines()
        return [line[:300] for line in lines if "pending" in line or "nsertion failed" in line]

    def answered(self):
        """The spans that its REST API tells of, by id."""
        spans, cursor = {}, None
        while True:
            query = f"?limit=1000{f'&cursor={cursor}' if cursor else ''}"
            try:
                with urllib.request.urlopen(f"{self.url}/v1/projects/default/spans{query}", timeout=60) as answer:
                    page = json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code == 404:  # no project before the first span
                    return spans
                raise
            for span in page["data"]:
                spans.setdefault(span["context"]["span_id"], []).append(span)
            cursor = page.get("next_cursor")
            if not cursor:
                return spans

    def answered_all(self, ids):
        """What `answered` says once it has these; or nothing new for half a minute."""
        known, deadline = {}, 0
        while True:
            more = self.answered()
            if len(known) < len(more):
                deadline = time.monotonic() + 30
            known = more
            if ids <= known.keys() or deadline < time.monotonic():
                return known
            time.sleep(0.5)

    def stored(self):
        """What its database has, when it does not run: rows as the comparison reads them."""
        rows = []
        with sqlite3.connect(self.place / "phoenix.db") as database:
            query = """select traces.trace_id, spans.span_id, spans.parent_id, spans.name, spans.status_code, spans.start_time,
                       spans.end_time, spans.attributes, spans.span_kind,
                       spans.llm_token_count_prompt, spans.llm_token_count_completion
                       from spans join traces on traces.id = spans.trace_rowid"""
            for row in database.execute(query):
                trace, span, parent, name, status, start, end, attributes, kind, prompt, completion = row
                rows.append({"trace": trace, "id": span, "parent": parent, "name": name, "status": status,
                             "start": micros(start), "end": micros(end), "tokens": tokens_in(json.loads(attributes)),
                             "shown": (kind, prompt, completion) if name.split(" ")[0] in KINDS else None})
        return rows


def micros(text):
    at = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
    return (at - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(microseconds=1)


def tokens_in(attributes):
    usage = attributes.get("gen_ai", {}).get("usage", {})
    count = lambda *path: (usage.get(path[0], {}) if len(path) == 2 else usage).get(path[-1])
    return {"input": count("input_tokens"), "output": count("output_tokens"), "cached": count("cache_read", "input_tokens"),
            "thought": count("reasoning", "output_tokens")}


# What Phoenix makes of the names of the conventions, by the first word of a span's name.
KINDS = {"chat": "LLM", "invoke_agent": "AGENT", "execute_tool": "TOOL"}


def shown(kind, tokens):
    """The kind and the tokens that Phoenix adds up: of requests to models, not of runs once more."""
    if kind == "llm":
        return "LLM", tokens["input"] or 0, tokens["output"] or 0
    return {"run": ("AGENT", None, None), "tool": ("TOOL", None, None)}.get(kind)


def expected(spans):
    """The same of what `trace/get` says. Other programs know a span by a number of its own, which `trace/export` has."""
    known = {span["spanId"]: span["otlp"]["spanId"] for span in spans}
    rows = []
    for span in spans:
        usage = span.get("usage")
        more = lambda key: (usage or {}).get(key) or None
        tokens = {"input": usage and usage["promptTokens"], "output": usage and usage["outputTokens"] + usage["thoughtTokens"],
                  "cached": more("cachedTokens"), "thought": more("thoughtTokens")}
        rows.append({
            "trace": span["traceId"].replace("-", ""), "id": known[span["spanId"]],
            "parent": known[span["parentSpanId"]] if span.get("parentSpanId") else None, "name": span["otlp"]["name"],
            "status": {"ok": "OK", "error": "ERROR", "cancelled": "UNSET"}[span["status"]], "start": span["startUs"],
            "end": span["endUs"], "tokens": tokens, "shown": shown(span["kind"], tokens)})
    return rows


def differences(expected, arrived):
    faults, by_id = [], {}
    for row in arrived:
        by_id.setdefault(row["id"], []).append(row)
    for row in expected:
        rows = by_id.pop(row["id"], [])
        if len(rows) != 1:
            faults.append(f"{row['name']} {row['id']} is there {len(rows)} times")
        for other in rows:
            faults += [f"{row['name']} {row['id']}: {key} is {other[key]!r}, not {row[key]!r}" for key in row
                       if row[key] != other[key]]
    faults += [f"{rows[0]['name']} {id} is in no trace" for id, rows in by_id.items()]
    return faults


def one_with(rows, key):
    return next(row for row in rows if row[key])


SPOILS = {
    "one dropped": lambda rows: rows.pop(len(rows) // 2),
    "one twice": lambda rows: rows.append(rows[0]),
    "a stranger": lambda rows: rows.append(rows[0] | {"id": "0" * 16}),
    "another parent": lambda rows: one_with(rows, "parent").update(parent=rows[0]["id"]),
    "another status": lambda rows: rows[0].update(status="UNSET" if rows[0]["status"] != "UNSET" else "OK"),
    "another token": lambda rows: next(row for row in rows if row["tokens"]["input"])["tokens"].update(input=1),
    "another name": lambda rows: rows[-1].update(name="chat"),
}


class Feeder(threading.Thread):
    """Starts runs, so that two are always at work, and answers their questions, until it is told to stop; then they end."""

    def __init__(self, daemon, model, runs):
        super().__init__(daemon=True)
        self.daemon_, self.model, self.runs, self.fault = daemon, model, runs, None
        self.is_stopping = threading.Event()

    def run(self):
        try:
            live = []
            while live or not self.is_stopping.is_set():
                if len(live) < TOGETHER and not self.is_stopping.is_set():
                    self.runs.append(self.daemon_.begin("lead", self.model.name, f"Do number {len(self.runs)}"))
                    live.append(self.runs[-1])
                self.daemon_.answer_questions()
                live = [run for run in live if not self.daemon_.is_over(run)]
                time.sleep(0.05)
        except Exception as error:
            self.fault = error

    def end(self):
        self.is_stopping.set()
        self.join(180)
        if self.fault or self.is_alive():
            raise RuntimeError(f"runs did not end: {self.fault}")


def kill_at_random(daemon, chance):
    time.sleep(chance.uniform(0.1, 4))
    daemon.kill()
    time.sleep(chance.uniform(0, 0.5))
    daemon.start()


def restart(phoenix, chance, faults):
    try:
        for _ in range(2):
            time.sleep(chance.uniform(0.5, 5))
            phoenix.stop()
            time.sleep(chance.uniform(0, 2))
            phoenix.start()
    except Exception as error:
        faults.append(error)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("protocol", choices=["http", "grpc"])
    options.add_argument("--seed", type=int, default=int(time.time()))
    options.add_argument("--kills", type=int, default=10)
    options = options.parse_args()
    need("phoenix")
    print(f"phoenix {options.protocol} --seed {options.seed} --kills {options.kills}", flush=True)
    chance = random.Random(options.seed)
    began = time.monotonic()
    with Phoenix() as phoenix, Model(tree, random.Random(options.seed + 1), slowest=1.5) as model:
        port, word = (phoenix.port, "http/protobuf") if options.protocol == "http" else (phoenix.grpc_port, "grpc")
        otlp = {"endpoint": f"http://127.0.0.1:{port}", "protocol": word, "signals": ["traces"],
                "compression": chance.choice(["none", "gzip"])}
        settings = {"providers": model.providers, "hooks": HOOKS, "tracing": {"otlp": otlp}}
        with Daemon(options.programs, settings, files={"a.txt": "alpha\n"}) as daemon:
            runs, faults = [], []
            feeder = Feeder(daemon, model, runs)
            feeder.start()
            restarts = threading.Thread(target=restart, args=(phoenix, random.Random(options.seed + 2), faults), daemon=True)
            restarts.start()
            for _ in range(options.kills - options.kills // 3):
                kill_at_random(daemon, chance)
            restarts.join(180)
            if faults:
                raise faults[0]
            feeder.end()

            # Nothing runs now.
            wait_until("everything is confirmed", lambda: daemon.gauge("subagentd_otlp_backlog_events") == 0)
            spans = [span for run in runs for span in daemon.spans(run)]
            names = {span["otlp"]["spanId"]: f"{span['otlp']['name']}, {span['endedAt']}" for span in spans}
            missing = names.keys() - phoenix.answered_all(names.keys()).keys()
            if missing:
                told(f"phoenix-{options.protocol}-halfway", [*phoenix.complaints(), f"{len(missing)} of {len(names)} are missing",
                                                             *(f"{names[id]}, {id}" for id in missing)])
                return 1
            phoenix.stop(signal.SIGKILL)

            feeder = Feeder(daemon, model, runs)
            feeder.start()
            starting = threading.Thread(target=phoenix.start, daemon=True)
            starting.start()
            for _ in range(options.kills // 3):
                kill_at_random(daemon, chance)
            starting.join(180)
            wait_until("there are enough spans", lambda: SPANS <= 40 * len(runs))
            feeder.end()
            wait_until("everything is confirmed", lambda: daemon.gauge("subagentd_otlp_backlog_events") == 0)
            dropped = [line for line in daemon.metrics().splitlines() if line.startswith("subagentd_otlp_dropped_total{")]
            spans = [span for run in runs for span in daemon.spans(run)]
            answered = phoenix.answered_all({span["otlp"]["spanId"] for span in spans})
            phoenix.stop()
            rows, arrived, complaints = expected(spans), phoenix.stored(), phoenix.complaints()
            restarted = sum(span.get("run", {}).get("uncleanRestarts", 0) > 0 for span in spans)
    print(f"    {len(runs)} traces, {len(rows)} spans, {sum(row['parent'] is None for row in rows)} of them roots, "
          f"{restarted} runs that outlived a daemon, "
          f"{sum(row['status'] == 'ERROR' for row in rows)} errors, {sum(row['status'] == 'UNSET' for row in rows)} cut off; "
          f"{otlp['compression']}, {time.monotonic() - began:.0f} s")
    faults = differences(rows, arrived) + complaints + [f"dropped: {line}" for line in dropped if not line.endswith(" 0")]
    if len(rows) < SPANS:
        faults.append(f"only {len(rows)} spans were produced")
    is_wrong = told(f"phoenix-{options.protocol}-database", faults)
    faults = [f"{row['name']} {row['id']}: REST has it {len(answered.get(row['id'], []))} times" for row in rows
              if [span["name"] for span in answered.get(row["id"], [])] != [row["name"]]]
    faults += [f"{id} is in no trace" for id in answered.keys() - {row["id"] for row in rows}]
    is_wrong |= told(f"phoenix-{options.protocol}-rest", faults)
    faults = []
    for name, spoil in SPOILS.items():
        spoiled = copy.deepcopy(arrived)
        spoil(spoiled)
        if not differences(rows, spoiled):
            faults.append(f"not noticed: {name}")
    is_wrong |= told(f"phoenix-{options.protocol}-spoils-noticed", faults)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
