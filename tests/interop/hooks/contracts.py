#!/usr/bin/env python3
"""Do the types that Claude Code and Codex publish for hooks accept what hooks read here, and does the daemon accept what they allow?

Usage: tests/interop/hooks/contracts.py BIN_DIR [--sdk FOLDER] [--codex FOLDER]
  BIN_DIR: where subagentd and subagent lie. --sdk: the unpacked package @anthropic-ai/claude-agent-sdk 0.3.330; without it, it comes
  from npm, as does the compiler. --codex: Codex's schemas, *.command.input.schema.json and *.command.output.schema.json; without them,
  or without Python's jsonschema, that half is skipped.
Runs of a real daemon make most events happen; each line that a hook read becomes a literal of its event's type, for which the
compiler allows no field too many, and is checked against Codex's schema where a hook of Codex's read it. Each answer of ANSWERS is a
literal of the type of answers, and each of Codex's schemas is turned into answers; a hook gives each, and none may be told to be
of a wrong shape. Prints `ran` or `skipped` a case; exit status 1 when one that ran failed.
"""
import argparse, json, pathlib, re, subprocess, sys, tempfile

sys.dont_write_bytecode = True
from house import House

SDK = "@anthropic-ai/claude-agent-sdk@0.3.330"
EVENTS = ["SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "PermissionRequest", "PermissionDenied",
          "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStart", "SubagentStop", "PreCompact",
          "SessionEnd", "StopFailure", "InstructionsLoaded", "Notification"]
CODEX_EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop", "SubagentStart",
                "SubagentStop", "PreCompact"]


def special(event, **fields):
    return event, {"hookSpecificOutput": {"hookEventName": event, **fields}}


RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow", "destination": "session"}
ANSWERS = [
    ("PreToolUse", {}),
    ("PreToolUse", {"continue": True, "suppressOutput": True, "systemMessage": "seen", "terminalSequence": "\u0007"}),
    ("PreToolUse", {"continue": False, "stopReason": "enough"}),
    ("PreToolUse", {"decision": "approve", "reason": "fine"}),
    ("PreToolUse", {"decision": "block", "reason": "no"}),
    *[special("PreToolUse", permissionDecision=word, permissionDecisionReason="why") for word in ("allow", "deny", "ask", "defer")],
    special("PreToolUse", permissionDecision="allow", updatedInput={"command": "ls"}, additionalContext="mind it"),
    special("UserPromptSubmit", additionalContext="mind it", sessionTitle="a title", suppressOriginalPrompt=True),
    ("UserPromptSubmit", {"decision": "block", "reason": "no"}),
    special("UserPromptExpansion", additionalContext="mind it", suppressOriginalPrompt=True),
    special("SessionStart", additionalContext="mind it", initialUserMessage="hello", sessionTitle="a title", watchPaths=["/a"],
            reloadSkills=True),
    special("SubagentStart", additionalContext="mind it"),
    special("PostToolUse", additionalContext="mind it", classifierContext="c", updatedToolOutput={"stdout": "x"}),
    special("PostToolUse", updatedMCPToolOutput=[{"type": "text", "text": "x"}]),
    ("PostToolUse", {"decision": "block", "reason": "no"}),
    special("PostToolUseFailure", additionalContext="mind it"),
    special("PostToolBatch", additionalContext="mind it"),
    special("Stop", additionalContext="mind it"),
    ("Stop", {"decision": "block", "reason": "go on"}),
    special("SubagentStop", additionalContext="mind it"),
    special("PermissionDenied", retry=True),
    special("Notification", additionalContext="mind it"),
    special("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"command": "ls"}, "updatedPermissions": [RULE]}),
    special("PermissionRequest", decision={"behavior": "deny", "message": "no", "interrupt": True}),
    special("Elicitation", action="accept", content={"a": 1}),
    special("Elicitation", action="decline"),
    special("ElicitationResult", action="cancel"),
    special("ElicitationResult", action="accept", content={"a": 1}),
    ("PostToolUse", {"async": True, "asyncTimeout": 1000}),
]


def told(name, faults):
    print(f"ran: {name}{' FAILED' if faults else ''}", flush=True)
    for fault in faults[:40]:
        print(f"    {fault}")
    return bool(faults)


def recorder(folder):
    return {"type": "command", "command": f"cat > $(mktemp '{folder}/XXXXXXXX')"}


def read(folder):
    texts = [file.read_text() for file in sorted(folder.iterdir()) if file.name != "keep"]
    return [json.loads(text) for text in texts if text.strip()]


def recorded(programs):
    """Everything that hooks read in two sessions: what Claude Code's would, and what Codex's would."""
    files = {"a.txt": "alpha\n", "AGENTS.md": "Mind the tests.\n", ".record/keep": ""}
    skill = "---\nname: careful\ndescription: Careful work.\n---\nBe careful.\n"
    house = House(programs, files=files, home_files={".claude/skills/careful/SKILL.md": skill},
                  settings={"hooks": {"places": ["claude"]}})
    (house.home / "record").mkdir()
    hooks = {event: [{"hooks": [recorder(house.home / "record")]}] for event in EVENTS}
    house.put(house.home / ".claude/settings.json", json.dumps({"hooks": hooks}))
    hooks = {event: [{"hooks": [recorder(house.work / ".record")]}] for event in CODEX_EVENTS}
    house.put(house.work / ".codex/hooks.json", json.dumps({"hooks": hooks}))
    rules = '[[rule]]\ntool = "glob"\ndecision = "deny"\n\n[[rule]]\ntool = "grep"\ndecision = "ask"\n'
    house.put(house.home / "config/subagentd/policies/some.toml", rules)
    with house:
        house.acknowledge()
        calls = [("read_file", {"path": "a.txt"}), ("read_file", {"path": "missing"}), ("glob", {"pattern": "*"}),
                 ("grep", {"pattern": "alpha"}), ("run_shell_command", {"command": "echo hi"}),
                 ("write_file", {"path": "b.txt", "content": "b\n"})]
        turns = [calls, [("helper", {"prompt": "Look."})], [("complete_task", {"result": "looked"})],
                 [("complete_task", {"result": "done"})], [("complete_task", {"result": "done"})]]
        first = house.run(house.replay("first", turns), "Do it.", "--skill", "careful")
        session = first["sessionId"]
        house.rpc("session/compact", sessionId=session)
        house.run(house.replay("short", [[("read_file", {"path": "a.txt"})]]), "Go on.", "--session", session)
        house.rpc("session/close", sessionId=session)
        log = house.events(sessionId=session)
        return read(house.home / "record"), read(house.work / ".record"), log


def answered(programs, answers, codex):
    """What the daemon makes of each answer, by its number. `codex`: of hooks of Codex's file."""
    files = {".record/keep": "", "a.txt": "alpha\n"}
    house = House(programs, files=files)
    folder = house.work / ".record"
    hooks = {}
    for number, (event, answer) in enumerate(answers):
        house.put(folder / f"{number}.json", json.dumps(answer))
        group = {"hooks": [{"type": "command", "command": f"cat > /dev/null; cat '{folder}/{number}.json'"}]}
        hooks.setdefault(event, []).append(group)
    place = house.work / ".codex/hooks.json" if codex else house.home / "config/subagentd/settings.json"
    house.put(place, json.dumps({"hooks": hooks}))
    faults = []
    with house:
        house.acknowledge()
        work = str(house.work)
        listed = house.rpc("hooks/list", workspace=work)["hooks"]
        by_number = {int(re.search(r"/(\d+)\.json", hook["runs"])[1]): hook["id"] for hook in listed if ".json'" in hook["runs"]}
        for number, (event, answer) in enumerate(answers):
            if number not in by_number:
                faults.append(f"{event} {json.dumps(answer)}: no such hook is listed")
                continue
            result = house.rpc("hooks/test", id=by_number[number], workspace=work)
            if result["outcome"] != "answered":
                faults.append(f"{event} {json.dumps(answer)}: {result['outcome']}: {result.get('reason')}")
    return faults


def typed(work, claude):
    """The compiler's word on what was read, and on ANSWERS."""
    lines = ["import type * as sdk from './sdk.d.ts';", "type Ours = { subagentd?: unknown };"]
    for number, event in enumerate(claude):
        lines.append(f"const read{number}: sdk.{event['hook_event_name']}HookInput & Ours = {json.dumps(event)};")
        lines.append(f"const any{number}: sdk.HookInput = read{number}; void any{number};")
    for number, (_, answer) in enumerate(ANSWERS):
        lines.append(f"const said{number}: sdk.HookJSONOutput = {json.dumps(answer)}; void said{number};")
    (work / "check.ts").write_text("\n".join(lines) + "\n")
    done = subprocess.run(["node_modules/.bin/tsc", "--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext",
                           "--moduleResolution", "nodenext", "--allowImportingTsExtensions", "check.ts"],
                          cwd=work, capture_output=True, text=True, timeout=300)
    return [line for line in done.stdout.splitlines() if "error" in line] if done.returncode else []


def untried(declarations):
    """Fields of answers that the types have, and no answer here does."""
    had = {}
    for event, answer in ANSWERS:
        had.setdefault(event, set()).update(answer.get("hookSpecificOutput", {}))
    faults = []
    for name, body in re.findall(r"declare type (\w+)HookSpecificOutput = \{(.*?)^\};", declarations, re.S | re.M):
        if name in had:
            fields = set(re.findall(r"^    (\w+)\??:", body, re.M))
            faults += [f"{name}: no answer has `{field}`" for field in sorted(fields - had[name])]
    return faults


def values(schema, root):
    """Some values that a schema allows."""
    if "$ref" in schema:
        return values(root["definitions"][schema["$ref"].rsplit("/", 1)[1]], root)
    if "allOf" in schema:
        return values(schema["allOf"][0], root)
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return schema["enum"]
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        required = {key: values(schema["properties"][key], root)[0] for key in schema.get("required", [])}
        # Codex itself refuses what is reserved.
        open_keys = [key for key, it in schema["properties"].items() if "Reserved" not in it.get("description", "")]
        return [required] + [required | {key: value} for key in open_keys for value in values(schema["properties"][key], root)]
    return {"string": ["a text"], "boolean": [True, False], "object": [{}]}.get(kind, [{"command": "ls"}])


def event_of(file):
    return "".join(word.capitalize() for word in file.name.split(".")[0].split("-"))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("programs")
    options.add_argument("--sdk", type=pathlib.Path)
    options.add_argument("--codex", type=pathlib.Path)
    options = options.parse_args()
    is_wrong = False
    claude, codex, log = recorded(options.programs)
    happened = {event["hook_event_name"] for event in claude}
    fired = {event["data"]["event"] for event in log if event["type"] == "hook.fired"}
    is_wrong |= told("events", [f"{event} was not read by any hook" for event in EVENTS if event not in happened])
    print(f"    {len(claude)} lines of Claude Code's hooks, {len(codex)} of Codex's; in the log {sorted(fired)}")
    is_wrong |= told("answers-accepted", answered(options.programs, ANSWERS, codex=False))

    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "package.json").write_text('{ "private": true, "type": "module" }')
        npm = "typescript@5.9.3 @types/node@20.19.43".split()
        done = subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *npm], cwd=work,
                              capture_output=True, text=True)
        sdk = options.sdk
        if done.returncode == 0 and sdk is None:
            done = subprocess.run(["npm", "pack", "--silent", SDK], cwd=work, capture_output=True, text=True)
            if done.returncode == 0:
                subprocess.run(["tar", "xzf", done.stdout.strip()], cwd=work, check=True)
                sdk = work / "package"
        if done.returncode != 0:
            print(f"skipped: claude-types (npm: {done.stderr.strip()[-200:]})")
        else:
            declarations = (sdk / "sdk.d.ts").read_text()
            (work / "sdk.d.ts").write_text(declarations)
            is_wrong |= told("claude-types", typed(work, claude))
            is_wrong |= told("claude-answers-all-fields", untried(declarations))

    try:
        import jsonschema
    except ImportError:
        jsonschema = None
    if options.codex is None or jsonschema is None:
        print("skipped: codex-schemas (no --codex given, or no jsonschema)")
        return 1 if is_wrong else 0
    schemas = {event_of(file): json.loads(file.read_text()) for file in options.codex.glob("*.input.schema.json")}
    faults = []
    for event in codex:
        schema = schemas[event["hook_event_name"]]
        faults += [f"{event['hook_event_name']}: {error.message}" for error in jsonschema.Draft7Validator(schema).iter_errors(event)]
    seen = {event["hook_event_name"] for event in codex}
    faults += [f"{event} was not read by any hook" for event in CODEX_EVENTS if event not in seen]
    is_wrong |= told("codex-schemas", faults)
    answers = []
    for file in sorted(options.codex.glob("*.output.schema.json")):
        schema = json.loads(file.read_text())
        for value in values(schema, schema):
            jsonschema.validate(value, schema)
            if event_of(file) in CODEX_EVENTS:
                answers.append((event_of(file), value))
    is_wrong |= told(f"codex-answers-accepted ({len(answers)})", answered(options.programs, answers, codex=True))
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
