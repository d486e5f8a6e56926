#!/usr/bin/env python3
"""Plays recordings that Gemini CLI users have (--record-responses), each as a run of its own.

Usage: tests/interop/recordings.py BIN_DIR FOLDER
  BIN_DIR: where subagentd and subagent lie. FOLDER: files named *.responses.
Says of each how its run ended. A recording of parallel calls that ends with them must give the results in the order of
the calls and then run out, with what there was as partial result; every other one must end GOAL. Exit status 1 when
one does not.
"""
import json, os, pathlib, subprocess, sys, tempfile

bin_dir, folder = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
recordings = sorted(folder.glob("*.responses"))
if not recordings:
    sys.exit(f"no *.responses in {folder}")

with tempfile.TemporaryDirectory() as home:
    work = pathlib.Path(home, "work")
    work.mkdir()
    (work / "README.md").write_text("A folder to work in.\n")
    environment = {
        "PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": home,
        "XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config",
    }

    def subagent(*arguments, check=True):
        command = [bin_dir / "subagent", *arguments]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=120)
        if check and done.returncode != 0:
            sys.exit(f"{arguments}: {done.stderr}")
        return done

    def events(run):
        filter = {"filter": {"runId": run}, "limit": 1000}
        return json.loads(subagent("rpc", "events/list", json.dumps(filter)).stdout)["events"]

    failed = False
    for recording in recordings:
        done = subagent("run", "generalist", "--model", f"replay:{recording}", "-p", "Go on.",
                        "--approve", "low", "--output-format", "json", "--new", check=False)
        record = json.loads(done.stdout)
        ended = record["reason"] + (" " + record["error"]["code"] if "error" in record else "")
        if record["reason"] == "GOAL":
            ok, more = bool(record.get("result")), ""
        else:
            log = events(record["runId"])
            asked = [c for e in log if e["type"] == "model.completed" for c in e["data"]["calls"]]
            settled = [e["data"]["callId"] for e in log
                       if e["type"] == "tool.state" and e["data"]["to"] in ("success", "error", "cancelled")]
            # The model would have read the results in the order of its calls, whichever ended first.
            told = subagent("rpc", "session/history", json.dumps({"sessionId": record["sessionId"]}))
            results = [part["callId"] for message in json.loads(told.stdout)["messages"]
                       for part in message["parts"] if part["type"] == "toolResult"]
            ok = ended == "ERROR REPLAY_EXHAUSTED" and bool(record.get("partialResult")) \
                and len(asked) == 5 and sorted(settled) == sorted(asked) and results == asked
            more = f", {len(settled)} results, partial result {record.get('partialResult')!r}"
        if ok and ".compress." in recording.name:
            # The recording goes on with what a summariser said.
            told = subagent("rpc", "session/compact", json.dumps({"sessionId": record["sessionId"]}))
            context = json.loads(told.stdout)["contexts"][0]
            ok = context["status"] == "COMPRESSED" and context["tokensAfter"] < context["tokensBefore"]
            more = f", then {context['status']} from {context['tokensBefore']} to {context['tokensAfter']} tokens"
        failed |= not ok
        print(f"{'ok' if ok else 'NOT OK'}  {recording.name}: {ended}, {record['toolCalls']} calls{more}")
    subagent("stop")
    sys.exit(failed)
