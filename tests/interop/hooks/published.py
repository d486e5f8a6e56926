#!/usr/bin/env python3
"""Runs plugins of hooks that others published for Claude Code, unchanged, each in a daemon of its own.

Usage: tests/interop/hooks/published.py BIN_DIR FOLDER [NAME...]
  BIN_DIR: where subagentd and subagent lie. FOLDER: a folder a plugin or repository, e.g. clones. NAME: only these folders.
A plugin's `hooks/hooks.json` is put as it is where Claude Code's settings of a person are read, with CLAUDE_PLUGIN_ROOT in the
environment; a repository's `.claude` lies in the workspace, and is acknowledged. Then a run makes the calls of CALLS, which the rules
allow, so that only hooks can be in the way. Says of each which events fired with what outcome, and which calls were refused why.

A plugin FAILS here when its file loads with an error or without a hook, when an answer of its hooks is no valid one to the
daemon, when the run does not end, or the daemon does. That a hook itself fails, e.g. for want of a program, is told and is no fault.
"""
import collections, json, os, pathlib, shutil, sys

sys.dont_write_bytecode = True
from house import House

FILES = {"a.ts": "export const a = 1;\n", "README.md": "A folder to work in.\n", ".env": "TOKEN=made-up\n",
         "package.json": '{ "name": "x", "version": "1.0.0" }\n', "test_a.py": "def test_a():\n    assert True\n"}
CALLS = [
    ("run_shell_command", {"command": "ls"}),
    ("run_shell_command", {"command": "git status"}),
    ("run_shell_command", {"command": "grep -r export ."}),
    ("run_shell_command", {"command": "rm -rf build"}),
    ("run_shell_command", {"command": "rm -rf ~"}),
    ("run_shell_command", {"command": "git reset --hard"}),
    ("run_shell_command", {"command": "git push --force origin main"}),
    ("run_shell_command", {"command": "pip install requests"}),
    ("run_shell_command", {"command": "npm install left-pad"}),
    ("run_shell_command", {"command": "git add -A"}),
    ("run_shell_command", {"command": "cat .env"}),
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "a.ts"}),
    ("write_file", {"path": "b.ts", "content": "eval(input);\nelement.innerHTML = input;\n"}),
    ("edit_file", {"path": "a.ts", "oldString": "1", "newString": "2"}),
    ("edit_file", {"path": "test_a.py", "oldString": "assert True", "newString": "pass"}),
]
# More than a hook may keep a run from its end.
SAYS = ["I did half of it."] * 12


def shown(call):
    tool, arguments = call
    return f"{tool} {arguments.get('command') or arguments.get('path')}"


def plugins(folder):
    """Each with its name, its own root, and the file that names its hooks."""
    for file in sorted(folder.rglob("hooks.json")):
        if file.parent.name == "hooks" and "node_modules" not in file.parts:
            yield file.parent.parent, file
    for name in ("settings.json", ".claude/settings.json"):
        file = folder / name
        if file.is_file() and "hooks" in json.loads(file.read_text()):
            yield folder, file


def try_plugin(programs, root, file):
    """What came of it, and what is wrong with that."""
    is_project = file.parent.name == ".claude"
    settings = {"hooks": {"places": ["claude"], "environment": ["CLAUDE_PLUGIN_ROOT"]}}
    house = House(programs, files=FILES, settings=settings)
    # Some find their own modules by the folder's name.
    manifest = root / ".claude-plugin/plugin.json"
    name = json.loads(manifest.read_text())["name"] if manifest.is_file() else root.name
    place = house.home / "plugins" / name
    shutil.copytree(root, place, symlinks=True)
    house.environment["CLAUDE_PLUGIN_ROOT"] = str(place)
    if is_project:
        shutil.copytree(root / ".claude", house.work / ".claude", symlinks=True)
    else:
        house.put(house.home / ".claude/settings.json", file.read_text())
    faults = []
    with house:
        if is_project:
            house.acknowledge()
        listed = house.rpc("hooks/list", workspace=str(house.work))
        standing = collections.Counter(hook["state"] for hook in listed["hooks"])
        errors = [f"{found['path']}:{found.get('line')}: {found['message']}" for found in listed.get("problems", [])
                  if found["severity"] == "error"]
        faults += errors
        if not standing["on"] and not standing["neverFires"]:
            faults.append(f"no hook is on: {dict(standing)}")
        record = house.run(house.replay("calls", [CALLS, *SAYS]), "fix the bug in a.ts")
        house.rpc("session/close", sessionId=record["sessionId"])
        log = house.events(sessionId=record["sessionId"])
        if house.process.poll() is not None:
            faults.append("the daemon ended")
    fired = [event["data"] for event in log if event["type"] == "hook.fired"]
    outcomes = collections.Counter((it["event"], it["outcome"], it.get("decision", "")) for it in fired)
    failed = {(it["event"], it.get("reason", "")) for it in fired if it["outcome"] != "answered"}
    faults += [f"an answer at {it['event']} is no valid one: {it.get('reason')}" for it in fired if it["outcome"] == "invalid"]
    states = [event["data"] for event in log if event["type"] == "tool.state"]
    asked = [state["callId"] for state in states if state["to"] == "validating"]
    ends = {state["callId"]: state.get("error", {}) for state in states if state["to"] in ("success", "error")}
    refused = [(call, ends[id]["message"].splitlines()[0]) for call, id in zip(CALLS, asked)
               if ends.get(id, {}).get("type") == "HOOK_DENIED"]
    if record["reason"] not in ("GOAL", "ERROR"):
        faults.append(f"the run ended {record['reason']}")
    return standing, outcomes, failed, refused, record, faults


def main():
    programs, folder = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
    only = sys.argv[3:]
    n_tried, is_wrong = 0, False
    for repository in sorted(it for it in folder.iterdir() if it.is_dir() and (not only or it.name in only)):
        for root, file in plugins(repository):
            n_tried += 1
            name = f"{repository.name} {file.relative_to(repository)}"
            standing, outcomes, failed, refused, record, faults = try_plugin(programs, root, file)
            is_wrong |= bool(faults)
            ended = record["reason"] + (f" {record['error']['code']}" if "error" in record else "")
            print(f"{'FAILED' if faults else 'ran'}: {name}: {dict(standing)}, run {ended}", flush=True)
            for (event, outcome, decision), n in sorted(outcomes.items()):
                print(f"    {event} {outcome} {decision} x{n}")
            for call, why in refused:
                print(f"    refused: {shown(call)}: {why[:160]}")
            for event, why in sorted(failed):
                print(f"    failed by itself: {event}: {why[:160]}")
            for fault in faults:
                print(f"    FAULT: {fault}")
    print(f"{n_tried} plugins")
    return 1 if is_wrong or n_tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
