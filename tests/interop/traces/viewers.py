#!/usr/bin/env python3
"""Do viewers' own readers take the export `chrome`, without warnings, with all spans, each within what it lies within in trace/get?

Usage: tests/interop/traces/viewers.py BIN_DIR [--kept FOLDER]
  BIN_DIR: where subagentd and subagent lie. --kept: a folder to install the npm packages below into, and to find them in the next
  time; without it, it is temporary. Needs node and npm.
The readers are speedscope's importer, and the engine of Chrome's DevTools (viewers.mjs). They read single traces of runs that a
killed daemon left behind and another daemon went on with, a session of several traces, and one that is still open. Readers tell
by times alone what lies within what, so that is what is compared: the call around a call on its track must be an ancestor of its
in trace/get, and the nearest on that track. Exits 1 when something is amiss, 77 without npm.
"""
import argparse, collections, copy, json, pathlib, shutil, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
from daemon import AGENTS, HOOKS, Daemon, Model, told, tree, wait_until

PACKAGES = {"speedscope": "1.25.0", "@paulirish/trace_engine": "0.0.65"}
# Things of the same microsecond are drawn one after the other.
MOST_SHIFTED_US = 200


def script(agent, prompt, step):
    return ("", [("run_shell_command", {"command": "sleep 60"})]) if agent == "sleeper" else tree(agent, prompt, step)


def faults_of(spans, events, read, is_whole):
    """`events`: those of the export with a span. `is_whole`: nothing of it is open. Of what is open these readers make an instant,
    or what lasts until the last event, and so nothing of the last one; it has to be told, but lies nowhere."""
    by_id = {span["spanId"]: span for span in spans}
    tracks = {event["args"]["spanId"]: (event["pid"], event["tid"]) for event in events}
    faults = [f"warned: {warning[:300]}" for warning in read["warnings"]] if is_whole else []
    times = collections.Counter(row[2] for row in read["rows"])
    is_last_open = lambda span: not any(it.get("parentSpanId") == span["spanId"] and tracks[it["spanId"]] == tracks[span["spanId"]]
                                        for it in spans)
    faults += [f"{span['name']} {id} is there {times[id]} times" for id, span in by_id.items() if times[id] != 1
               and (is_whole or times[id] or span.get("endUs") or not is_last_open(span))]
    faults += [f"{row[3]} {row[2]} is in no trace" for row in read["rows"] if row[2] not in by_id]
    starts = collections.defaultdict(list)
    for track, _, id, name, start, end, parent in read["rows"]:
        if id not in by_id:
            continue
        span = by_id[id]
        above = span.get("parentSpanId")
        while above and tracks.get(above) != tracks[id]:
            above = by_id[above].get("parentSpanId") if above in by_id else None
        if is_whole and parent != above:
            about = lambda it: it and by_id.get(it, {}).get("name")
            faults.append(f"{name} {id} lies in {about(parent)} {parent}, and in trace/get in {about(above)} {above}")
        if not name.endswith(span["name"]):
            faults.append(f"{name} {id} is called {span['name']}")
        starts[track].append(start - span["startUs"])
        if is_whole and abs((end - start) - (span["endUs"] - span["startUs"])) > MOST_SHIFTED_US:
            faults.append(f"{name} {id} took {end - start} µs, not {span['endUs'] - span['startUs']}")
    # A reader may count from where it likes.
    faults += [f"on {track} beginnings are {min(all)} to {max(all)} µs from where they were" for track, all in starts.items()
               if is_whole and max(all) - min(all) > MOST_SHIFTED_US]
    return faults


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("--kept", type=pathlib.Path)
    options = options.parse_args()
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: viewers (no npm)")
        return 77
    is_wrong = False
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        kept = options.kept or scratch / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
        done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=kept,
                              capture_output=True, text=True)
        if done.returncode != 0:
            print(f"skipped: viewers (npm: {done.stderr.strip()[-200:]})")
            return 77

        def read(text):
            (scratch / "trace.json").write_text(text)
            reader = pathlib.Path(__file__).resolve().with_name("viewers.mjs")
            done = subprocess.run(["node", reader, scratch / "trace.json", kept / "node_modules"], capture_output=True, text=True,
                                  timeout=120)
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
            return json.loads(done.stdout)

        def compared(name, spans, text, is_whole=True):
            nonlocal is_wrong
            events = [event for event in json.loads(text)["traceEvents"] if "spanId" in event.get("args", {})]
            for reader, it in read(text).items():
                deep = max((row[1] for row in it["rows"]), default=0) + 1
                print(f"    {reader}: {len(spans)} spans, {len({row[0] for row in it['rows']})} tracks, {deep} deep")
                is_wrong |= told(f"viewers-{name}-{reader}", faults_of(spans, events, it, is_whole))
                if name == "session":
                    # It would notice if one lay in another, or was not there.
                    spoilt = copy.deepcopy(it)
                    row = next(row for row in spoilt["rows"] if row[6])
                    row[6] = row[2]
                    less = it | {"rows": it["rows"][1:]}
                    unseen = [what for what, other in (("another parent", spoilt), ("one less", less))
                              if not faults_of(spans, events, other, True)]
                    is_wrong |= told(f"viewers-{reader}-spoils-noticed", unseen)

        agents = AGENTS | {"sleeper": AGENTS["checker"].replace("checker", "sleeper")}
        with Model(script, slowest=0.05) as model, \
                Daemon(options.programs, {"providers": model.providers, "hooks": HOOKS}, agents, {"a.txt": "alpha\n"}) as daemon:
            def is_over(runs):
                daemon.answer_questions()
                return all(daemon.is_over(run) for run in runs)
            runs = [daemon.begin("lead", model.name, f"Do number {number}") for number in range(3)]
            time.sleep(0.7)
            daemon.kill()
            daemon.start()
            wait_until("the runs are over", lambda: is_over(runs))
            session = daemon.rpc("run/get", runId=runs[0])["sessionId"]
            more = [daemon.rpc("run/start", sessionId=session, agent="lead", model=model.name, prompt=f"Do number {number}",
                               idempotencyKey=f"number-{number}")["runId"] for number in (7, 8)]
            wait_until("the runs of the session are over", lambda: is_over(more))
            for run in runs[1:]:
                compared(f"trace-{runs.index(run)}", daemon.spans(run), daemon.export("chrome", runId=run))
            spans = [span for run in (runs[0], *more) for span in daemon.spans(run)]
            compared("session", spans, daemon.export("chrome", sessionId=session))
            sleeper = daemon.begin("sleeper", model.name, "Do number 9")
            every = lambda: daemon.pages("trace/get", "spans", runId=sleeper)
            wait_until("it sleeps", lambda: any(span["kind"] == "tool" for span in every()))
            time.sleep(0.5)
            compared("open", every(), daemon.export("chrome", runId=sleeper), is_whole=False)
            daemon.rpc("run/cancel", runId=sleeper)
            wait_until("it was cancelled", lambda: daemon.is_over(sleeper))
            compared("cancelled", daemon.spans(sleeper), daemon.export("chrome", runId=sleeper))
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
