#!/usr/bin/env python3
"""Do Prometheus and its own checker take /metrics, is each metric in docs/service.md, and do they agree with traces?

Usage: tests/interop/traces/metrics.py BIN_DIR [--tools FOLDER]
  BIN_DIR: where subagentd and subagent lie. --tools: where `promtool` and `prometheus` lie (Debian's package prometheus has both),
  if not in the PATH; what is not there is skipped. Needs PyPI's prometheus_client (requirements.txt).
After runs of three agents, with a question, a hook, errors, a run that is cancelled and a collector that is away, /metrics is read
over the socket. `promtool check metrics` must have nothing to say; each name and label is in the manual's table, and the other
way round; histograms add up; counters are what `trace/get` has. A Prometheus that is configured as the manual says scrapes it.
"""
import argparse, collections, json, os, pathlib, re, shutil, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request

sys.dont_write_bytecode = True
from daemon import AGENTS, HOOKS, Daemon, Model, free_port, need, told, tree, wait_until

MANUAL = pathlib.Path(__file__).resolve().parents[3] / "docs/service.md"
RUNS = 6


def script(agent, prompt, step):
    return ("", [("run_shell_command", {"command": "sleep 60"})]) if agent == "sleeper" else tree(agent, prompt, step)


def described():
    """Labels by the name of the metric, as the manual's table has them."""
    rows = re.findall(r"^\| `([a-z_]+)` \| ([^|]*)\|", MANUAL.read_text(), re.M)
    return {name: set(re.findall(r"`([a-z_]+)`", labels)) for name, labels in rows if name.startswith(("subagentd_", "process_"))}


def compared_with_manual(families):
    manual, faults = described(), []
    for name in families.keys() - manual.keys():
        faults.append(f"{name} is not in the manual")
    for name in manual.keys() - families.keys():
        faults.append(f"{name} is in the manual only")
    for name in manual.keys() & families.keys():
        labels = {label for sample in families[name].samples for label in sample.labels} - {"le"}
        if families[name].samples and labels != manual[name]:
            faults.append(f"{name} has the labels {sorted(labels)}, and the manual says {sorted(manual[name])}")
        if not families[name].documentation:
            faults.append(f"{name} has no HELP")
        if families[name].type == "unknown":
            faults.append(f"{name} has no TYPE")
    return faults


def added_up(families):
    """Buckets never fall, the last is the count; and no sample is there twice."""
    faults = []
    for name, family in families.items():
        seen = collections.Counter((sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples)
        faults += [f"{sample} is there {count} times" for sample, count in seen.items() if count > 1]
        if family.type != "histogram":
            continue
        buckets, counts = collections.defaultdict(list), {}
        for sample in family.samples:
            labels = tuple(sorted((key, value) for key, value in sample.labels.items() if key != "le"))
            if sample.name.endswith("_bucket"):
                buckets[labels].append((float(sample.labels["le"]), sample.value))
            elif sample.name.endswith("_count"):
                counts[labels] = sample.value
        for labels, rows in buckets.items():
            values = [value for _, value in rows]
            if rows != sorted(rows) or values != sorted(values) or rows[-1] != (float("inf"), counts.get(labels)):
                faults.append(f"{name}{dict(labels)}: {rows}, count {counts.get(labels)}")
        if buckets.keys() != counts.keys():
            faults.append(f"{name}: buckets of {sorted(buckets)}, counts of {sorted(counts)}")
    return faults


def compared_with_traces(families, spans):
    """Counters of a daemon that saw all of these spans."""
    def samples(name):
        return {tuple(sorted(it.labels.items())): it.value for it in families[name].samples if it.value and it.name == name}
    tools = collections.Counter((("status", span["status"]), ("tool", span["name"])) for span in spans if span["kind"] == "tool")
    asked = [span for span in spans if span["kind"] == "llm"]
    requests = collections.Counter((("model", span["llm"]["model"]), ("status", span["status"])) for span in asked)
    ended = collections.Counter((("reason", span["run"]["reason"]),) for span in spans if span["kind"] == "run")
    tokens = collections.Counter()
    kinds = (("input", "promptTokens"), ("output", "outputTokens"), ("cached", "cachedTokens"), ("thought", "thoughtTokens"))
    for span in asked:
        for kind, key in kinds:
            tokens[(("kind", kind), ("model", span["llm"]["model"]))] += (span.get("usage") or {}).get(key, 0)
    pairs = [("subagentd_tool_calls_total", tools), ("subagentd_model_requests_total", requests),
             ("subagentd_runs_ended_total", ended), ("subagentd_tokens_total", tokens)]
    return [f"{name}: {samples(name)}, and traces have {dict(counted)}" for name, counted in pairs
            if samples(name) != {key: value for key, value in counted.items() if value}]


def scraped(prometheus, daemon, port, families):
    """What a Prometheus makes of it that is configured as the manual says."""
    with tempfile.TemporaryDirectory() as folder:
        place, own = pathlib.Path(folder), free_port()
        (place / "prometheus.yml").write_text(f"""global: {{ scrape_interval: 1s, scrape_timeout: 1s }}
scrape_configs:
  - job_name: subagentd
    authorization:
      credentials_file: {daemon.state}/token
    static_configs:
      - targets: ["127.0.0.1:{port}"]
""")
        command = [prometheus, f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data",
                   f"--web.listen-address=127.0.0.1:{own}"]
        with open(place / "log", "wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=place)

        def asked(query):
            address = f"http://127.0.0.1:{own}/api/v1/query?query={urllib.parse.quote(query)}"
            try:
                return json.load(urllib.request.urlopen(address, timeout=5))["data"]["result"]
            except OSError:
                return []
        try:
            wait_until("Prometheus has scraped", lambda: [it["value"][1] for it in asked("up")] == ["1"], seconds=30)
            wait_until("Prometheus tells of it", lambda: asked("subagentd_info"), seconds=10)
            names = {it["metric"]["__name__"] for it in asked('{job="subagentd"}')}
            is_own = lambda name: name == "up" or name.startswith("scrape_")
            wanted = {sample.name for family in families.values() for sample in family.samples}
            faults = [f"Prometheus does not have {name}" for name in wanted - names]
            faults += [f"Prometheus alone has {name}" for name in names - wanted if not is_own(name)]
            for query, least in (("sum(subagentd_runs_ended_total)", RUNS), (
                    "histogram_quantile(0.9, sum by (le) (subagentd_commit_duration_seconds_bucket))", None)):
                result = asked(query)
                if len(result) != 1 or least is not None and float(result[0]["value"][1]) < least:
                    faults.append(f"{query}: {result}")
            return faults
        except RuntimeError as error:
            return [f"{error}: {(place / 'log').read_text()[-1000:]}"]
        finally:
            process.terminate()
            process.wait(30)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("--tools", type=pathlib.Path)
    options = options.parse_args()
    need("prometheus_client")
    from prometheus_client.parser import text_string_to_metric_families
    found = lambda name: shutil.which(name, path=f"{options.tools or ''}{os.pathsep}{os.environ['PATH']}")
    port, away = free_port(), free_port()
    agents = AGENTS | {"sleeper": AGENTS["checker"].replace("checker", "sleeper")}
    prices = {"prices": {"scripted/*": {"inputPerMillion": 1, "cachedInputPerMillion": 0.5, "outputPerMillion": 2}}}
    is_wrong = False
    with Model(script) as model:
        settings = {"providers": model.providers, "hooks": HOOKS, "models": prices,
                    "tracing": {"otlp": {"endpoint": f"http://127.0.0.1:{away}"}}}
        with Daemon(options.programs, settings, agents=agents, files={"a.txt": "alpha\n"},
                    arguments=["--listen", f"127.0.0.1:{port}"]) as daemon:
            runs = [daemon.begin("lead", model.name, f"Do number {number}") for number in range(RUNS)]
            runs.append(daemon.begin("sleeper", model.name, "Do number 99"))
            wait_until("it sleeps", lambda: any(
                span["kind"] == "tool" for span in daemon.pages("trace/get", "spans", runId=runs[-1])))
            daemon.rpc("run/cancel", runId=runs[-1])

            def is_over():
                daemon.answer_questions()
                return all(daemon.is_over(run) for run in runs)
            wait_until("all runs are over", is_over)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(daemon.socket))
                lines = connection.makefile("rw")
                client = {"name": "reader", "version": "1", "kind": "script"}
                for number, (method, params) in enumerate((
                        ("initialize", {"protocolVersion": "2", "client": client, "clientId": "reader-1"}),
                        ("events/subscribe", {"from": "start"}))):
                    lines.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
                    lines.flush()
                    while json.loads(lines.readline()).get("id") != number:
                        pass
                time.sleep(0.5)
                text = daemon.metrics()
            spans = [span for run in runs for span in daemon.spans(run)]
            try:
                families = {}
                for family in text_string_to_metric_families(text):
                    # It names counters without their end.
                    name = family.name + ("_total" if family.type == "counter" else "")
                    if name in families:
                        raise ValueError(f"{name} is there twice")
                    families[name] = family
            except ValueError as error:
                return told("metrics-parsed", [str(error)])
            is_wrong |= told("metrics-parsed", [] if families else ["there are none"])
            print(f"    {len(families)} metrics, {sum(len(it.samples) for it in families.values())} samples, {len(spans)} spans")
            if promtool := found("promtool"):
                done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
                said = (done.stdout + done.stderr).strip().splitlines()
                is_wrong |= told("metrics-promtool", said or ([f"exit code {done.returncode}"] if done.returncode else []))
                spoilt = text.replace("_total", "_count_sum").replace("# HELP subagentd_runs ", "# HELP another ")
                done = subprocess.run([promtool, "check", "metrics"], input=spoilt, capture_output=True, text=True)
                is_wrong |= told("metrics-promtool-notices", [] if done.returncode else ["it says nothing of spoilt names"])
            else:
                print("skipped: metrics-promtool (no promtool)")
            is_wrong |= told("metrics-in-the-manual", compared_with_manual(families))
            is_wrong |= told("metrics-add-up", added_up(families))
            is_wrong |= told("metrics-as-traces", compared_with_traces(families, spans))
            if prometheus := found("prometheus"):
                is_wrong |= told("metrics-scraped", scraped(prometheus, daemon, port, families))
            else:
                print("skipped: metrics-scraped (no prometheus)")
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
