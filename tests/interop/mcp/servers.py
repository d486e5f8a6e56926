#!/usr/bin/env python3
"""Are the tools, resources and prompts of MCP servers that we did not write ours to use?

Usage: tests/interop/mcp/servers.py BIN_DIR NODE_MODULES
Every tool of each server is listed and called by a run whose model is a provider on loopback, so that what comes of a call is
seen as that model's provider is sent it. Prints `ran` a case; exits 1 when one failed.
"""
import json, os, pathlib, signal, socket, subprocess, sys, time, traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "models"))
from daemon import Daemon
from provider import Provider
from replies import Call, Reply

PROGRAMS, MODULES = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])
KEY = "sk-of-nobody"
PATIENCE = 60
RULES = '[[rule]]\ntool = "*"\ndecision = "allow"\n'
AGENT = """---
kind: agent
name: user
description: Uses servers.
completion: tool
mcp: {servers: [everything, filesystem, memory]}
---
You use tools.
"""
failures = 0


class Wire:
    """One connection to the daemon's socket, in lines."""

    def __init__(self, daemon, name=None):
        path = f"{daemon.home}/run/subagentd/subagentd.sock"
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.file, self.number, self.events = self.socket.makefile("rw"), 0, []
        if name:
            self.call("initialize", {"protocolVersion": "2", "client": {"name": name, "kind": "script"}, "clientId": name,
                                     "capabilities": {"confirmations": {"kinds": ["edit", "exec", "mcp", "fetch", "info", "question", "agent", "plan", "budget"]}}})

    def call(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.file.write(json.dumps(message) + "\n")
        self.file.flush()
        while True:
            got = self.read()
            if got.get("id") == self.number and "method" not in got:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def read(self):
        line = self.file.readline()
        if not line:
            raise RuntimeError("the daemon hung up")
        return json.loads(line)

    def event(self, is_it):
        """The next event of which this holds."""
        while True:
            got = self.events.pop(0) if self.events else self.read()
            body = got.get("params", {}).get("result", got.get("params", {}))
            if isinstance(body, dict) and is_it(body):
                return body

    def close(self):
        self.file.close()
        self.socket.close()


def entry(name, *arguments):
    program = MODULES / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return {"command": "node", "args": [str(program), *arguments]}


def wire_name(tool):
    """As it stands in a request to a provider."""
    return tool.replace(".", "__")


class Scene:
    """A daemon with the servers, and a model that calls what it is told to."""

    def __init__(self, daemon, provider):
        self.daemon, self.provider = daemon, provider
        self.wire = Wire(daemon)

    def where(self, **more):
        return {"workspace": str(self.daemon.work), **more}

    def start(self, calls):
        """A run that makes these calls, one a turn."""
        replies = [Reply(calls=[Call(f"c{n}", wire_name(tool), arguments)]) for n, (tool, arguments) in enumerate(calls)]
        replies.append(Reply(calls=[Call("end", "complete_task", {"result": "done"})]))
        self.provider.play(replies)
        started = self.wire.call("run/start", self.where(agent="user", model="mine/claude-sonnet-4-5", prompt="Go.",
                                                          limits={"maxTurns": 200}))
        return started["runId"]

    def ended(self, run):
        record = self.wire.call("run/wait", {"runId": run, "timeoutMs": PATIENCE * 1000})["run"]
        if record["state"] != "ended":
            raise RuntimeError(f"the run does not end: {record}")
        return record

    def results(self, calls):
        """What the provider was told of each call, as it stands in the last request."""
        record = self.ended(self.start(calls))
        if record["reason"] != "GOAL":
            raise RuntimeError(f"the run ended with {record['reason']}: {record.get('error')}")
        blocks = []
        for message in self.provider.take()[-1].body["messages"]:
            if isinstance(message["content"], list):
                blocks += [block for block in message["content"] if block["type"] == "tool_result"]
        return blocks[-len(calls):]


def texts(block):
    content = block["content"]
    return content if isinstance(content, str) else "\n".join(it.get("text", f"<{it['type']}>") for it in content)


def types(block):
    content = block["content"]
    return ["text"] if isinstance(content, str) else [it["type"] for it in content]


def expect(what, is_so, seen=None):
    if not is_so:
        raise RuntimeError(f"{what}: {json.dumps(seen)[:2000]}")


def case(name, test, *arguments):
    global failures
    try:
        test(*arguments)
        print(f"ran: {name}")
    except Exception:
        failures += 1
        print(f"ran: {name} FAILED\n{traceback.format_exc()}")


ARGUMENTS = {
    "mcp.everything.echo": {"message": "grüße"},
    "mcp.everything.get-annotated-message": {"messageType": "success", "includeImage": True},
    "mcp.everything.get-resource-links": {"count": 2},
    "mcp.everything.get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "mcp.everything.get-structured-content": {"location": "New York"},
    "mcp.everything.get-sum": {"a": 2, "b": 40},
    "mcp.everything.gzip-file-as-resource": {"name": "x.gz", "data": "data:text/plain,hello", "outputType": "resource"},
    "mcp.everything.trigger-long-running-operation": {"duration": 1, "steps": 4},
    "mcp.everything.simulate-research-query": {"topic": "tea"},
    "mcp.memory.create_entities": {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes"]}]},
    "mcp.memory.create_relations": {"relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}]},
    "mcp.memory.add_observations": {"observations": [{"entityName": "Ada", "contents": ["counts"]}]},
    "mcp.memory.delete_entities": {"entityNames": ["Nobody"]},
    "mcp.memory.delete_observations": {"deletions": [{"entityName": "Ada", "observations": ["counts"]}]},
    "mcp.memory.delete_relations": {"relations": [{"from": "Ada", "to": "Ada", "relationType": "knows"}]},
    "mcp.memory.search_nodes": {"query": "Ada"},
    "mcp.memory.open_nodes": {"names": ["Ada"]},
}


def arguments_for(tool, work):
    """What the servers' files are called with lies in the workspace."""
    file = str(work / "note.txt")
    by_name = {
        "read_file": {"path": file}, "read_text_file": {"path": file}, "read_media_file": {"path": str(work / "dot.png")},
        "read_multiple_files": {"paths": [file]}, "write_file": {"path": str(work / "new.txt"), "content": "new"},
        "edit_file": {"path": file, "edits": [{"oldText": "noted", "newText": "written"}]},
        "create_directory": {"path": str(work / "folder")}, "list_directory": {"path": str(work)},
        "list_directory_with_sizes": {"path": str(work)}, "directory_tree": {"path": str(work)},
        "move_file": {"source": str(work / "new.txt"), "destination": str(work / "moved.txt")},
        "search_files": {"path": str(work), "pattern": "*.txt"}, "get_file_info": {"path": file},
        "list_allowed_directories": {},
    }
    if tool.startswith("mcp.filesystem."):
        return by_name[tool.rsplit(".", 1)[1]]
    return ARGUMENTS.get(tool, {})


# Answered by people, or slow on purpose: cases of their own.
APART = ("elicit", "sampl", "trigger-long-running")
# What it is only called as is a task of the protocol's, which is refused here by its server.
ONLY_AS_TASKS = ("simulate-research-query",)


def every_tool(scene):
    servers = scene.wire.call("mcp/status", scene.where())["servers"]
    tools = [tool for server in servers for tool in server.get("toolNames", [])]
    expect("fewer tools than these servers have", 30 <= len(tools), tools)
    called = [tool for tool in tools if not any(word in tool for word in APART)]
    # What others need comes first.
    called.sort(key=lambda tool: not tool.endswith(("create_entities", "create_directory", "write_file")))
    calls = [(tool, arguments_for(tool, scene.daemon.work)) for tool in called]
    results = scene.results(calls)
    wrong = {tool: texts(block) for (tool, _), block in zip(calls, results)
             if bool(block.get("is_error")) != tool.endswith(ONLY_AS_TASKS)}
    expect("calls that failed", not wrong, wrong)
    apart = sorted(set(tools) - set(called))
    print(f"  {len(called)} of {len(tools)} tools called: {len(results)} results; in cases of their own: {apart}")


def content_kinds(scene):
    results = scene.results([
        ("mcp.everything.echo", {"message": "one"}),
        ("mcp.everything.get-tiny-image", {}),
        ("mcp.everything.get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("mcp.everything.get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        ("mcp.everything.get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
        ("mcp.everything.get-resource-links", {"count": 2}),
        ("mcp.everything.get-structured-content", {"location": "Chicago"}),
        ("mcp.filesystem.read_media_file", {"path": str(scene.daemon.work / "dot.png")}),
        ("mcp.everything.get-sum", {"a": "two", "b": 1}),
    ])
    expect("text", "one" in texts(results[0]), results[0])
    for at in (1, 2, 7):
        image = [it for it in results[at]["content"] if it["type"] == "image"]
        expect("an image in the provider's form", image and image[0]["source"]["media_type"] == "image/png", results[at])
    expect("an embedded text", "esource" in texts(results[3]), results[3])
    expect("a blob is told", "demo://resource" in texts(results[4]) or "esource" in texts(results[4]), results[4])
    expect("links by name and URI", texts(results[5]).count("demo://resource") == 2, results[5])
    expect("structured content", "emperature" in texts(results[6]), results[6])
    expect("a refusal is an error", results[8].get("is_error"), results[8])


def progress(scene):
    watcher = Wire(scene.daemon, "watcher")
    watcher.call("session/attach", {"sessionId": "*", "from": "now", "deltas": True})
    run = scene.start([("mcp.everything.trigger-long-running-operation", {"duration": 2, "steps": 5})])
    told = watcher.event(lambda it: it.get("type") == "signal.progress")
    expect("progress says of what", told["data"].get("progress") is not None, told)
    expect("the run goes on", scene.ended(run)["reason"] == "GOAL")
    watcher.close()


def cancel(scene):
    run = scene.start([("mcp.everything.trigger-long-running-operation", {"duration": 50, "steps": 50})])
    watcher = Wire(scene.daemon, "canceller")
    watcher.call("session/attach", {"sessionId": "*", "from": "start"})
    watcher.event(lambda it: it.get("runId") == run and it.get("data", {}).get("to") == "executing")
    begun = time.monotonic()
    scene.wire.call("run/cancel", {"runId": run})
    record = scene.ended(run)
    expect("it is over soon", record["reason"] == "ABORTED" and time.monotonic() - begun < 10, record)
    expect("the server still answers", "42" in texts(scene.results([("mcp.everything.get-sum", {"a": 2, "b": 40})])[0]))
    watcher.close()


def resources_and_prompts(scene):
    listed = scene.wire.call("mcp/resources", scene.where(server="everything"))["resources"]
    expect("resources", listed, listed)
    read = scene.wire.call("mcp/readResource", scene.where(server="everything", uri=listed[0]["uri"]))["parts"]
    expect("a resource's text", read and len(read[0]["text"]) > 50, read)
    prompts = scene.wire.call("mcp/prompts", scene.where(server="everything"))["prompts"]
    expect("prompts", {"simple-prompt", "args-prompt"} <= {it["name"] for it in prompts}, prompts)
    said = scene.wire.call("mcp/prompts", scene.where(server="everything", prompt="args-prompt", arguments={"city": "Bern"}))
    expect("a filled prompt", "Bern" in said["parts"][0]["text"], said)
    scene.provider.play([Reply(calls=[Call("end", "complete_task", {"result": "done"})])])
    started = scene.wire.call("run/start", scene.where(
        agent="user", model="mine/claude-sonnet-4-5", attachments=[{"server": "everything", "uri": listed[0]["uri"]}],
        serverPrompt={"server": "everything", "name": "args-prompt", "arguments": {"city": "Bern"}}))
    scene.ended(started["runId"])
    first = json.dumps(scene.provider.take()[0].body["messages"])
    expect("a run begins with prompt and resource", "Bern" in first and listed[0]["uri"] in first, first)


def elicitation(scene):
    status = scene.wire.call("mcp/status", scene.where(server="everything"))["servers"][0]
    tool = next((it for it in status["toolNames"] if "elicitation-request" in it and "url" not in it and "async" not in it), None)
    expect("a tool that asks people", tool, status["toolNames"])
    # The one that starts the run is not the one that answers.
    other = Wire(scene.daemon, "other")
    other.call("session/attach", {"sessionId": "*", "from": "now"})
    run = scene.start([(tool, {})])
    asked = other.event(lambda it: it.get("type") == "confirmation.requested")["data"]["confirmation"]
    # The first choice, or what its kind wants; what may be left out is.
    answers = []
    for question in asked["details"]["questions"]:
        if question.get("optional") or "default" in question:
            answers.append("")
        elif question.get("options"):
            answers.append(question["options"][0])
        else:
            answers.append("7" if question.get("kind") in ("number", "integer") else "Ada")
    print(f"  asked: {[it['question'][:60] for it in asked['details']['questions']]}")
    try:
        other.call("confirmation/respond", {"confirmationId": asked["confirmationId"], "digest": asked["digest"],
                                            "outcome": "answer", "answers": answers})
    finally:
        other.close()
    expect("the run goes on", scene.ended(run)["reason"] == "GOAL")
    told = json.dumps(scene.provider.take()[-1].body["messages"])
    expect("the server got what was answered", "Ada" in told and "accept" in told.lower() or "provided" in told, told[-2000:])


def page(scene):
    """A page that a person is to open: they agree, and nothing is opened by itself."""
    other = Wire(scene.daemon, "reads")
    other.call("session/attach", {"sessionId": "*", "from": "now"})
    run = scene.start([("mcp.everything.trigger-url-elicitation", {"url": "https://example.com/sign-in"})])
    asked = other.event(lambda it: it.get("type") == "confirmation.requested")["data"]["confirmation"]
    expect("it shows the address", "https://" in json.dumps(asked["details"]), asked)
    agree = next(it["outcome"] for it in asked["options"] if it["outcome"] not in ("deny", "cancelRun"))
    answers = {"answers": ["yes" for _ in asked["details"].get("questions", [])]} if agree == "answer" else {}
    other.call("confirmation/respond", {"confirmationId": asked["confirmationId"], "digest": asked["digest"], "outcome": agree,
                                        **answers})
    expect("the run goes on", scene.ended(run)["reason"] == "GOAL")
    told = json.dumps(scene.provider.take()[-1].body["messages"])
    expect("the server got the answer", "accept" in told.lower(), told[-2000:])
    other.close()


def sampling(scene):
    """The model that is asked for the server is the run's own."""
    other = Wire(scene.daemon, "allows")
    other.call("session/attach", {"sessionId": "*", "from": "now"})
    tool = "mcp.everything.trigger-sampling-request"
    scene.provider.play([
        Reply(calls=[Call("c0", wire_name(tool), {"prompt": "What is tea?", "maxTokens": 50})]),
        Reply(text="A drink of leaves."),
        Reply(calls=[Call("end", "complete_task", {"result": "done"})]),
    ])
    started = scene.wire.call("run/start", scene.where(agent="user", model="mine/claude-sonnet-4-5", prompt="Go."))
    asked = other.event(lambda it: it.get("type") == "confirmation.requested")["data"]["confirmation"]
    expect("it shows what is asked", "What is tea?" in json.dumps(asked["details"]), asked)
    other.call("confirmation/respond", {"confirmationId": asked["confirmationId"], "digest": asked["digest"],
                                        "outcome": "allowOnce"})
    expect("the run goes on", scene.ended(started["runId"])["reason"] == "GOAL")
    told = json.dumps(scene.provider.take()[-1].body["messages"])
    expect("the server got what the model said", "A drink of leaves." in told, told[-2000:])
    other.close()


def killed_in_a_call(scene):
    run = scene.start([("mcp.everything.trigger-long-running-operation", {"duration": 50, "steps": 50})])
    watcher = Wire(scene.daemon, "killer")
    watcher.call("session/attach", {"sessionId": "*", "from": "start"})
    watcher.event(lambda it: it.get("runId") == run and it.get("data", {}).get("to") == "executing")
    time.sleep(0.5)
    program = str(MODULES / "@modelcontextprotocol/server-everything/dist/index.js")
    found = subprocess.run(["pgrep", "-f", f"^node {program}"], capture_output=True, text=True).stdout.split()
    expect("its process", found, found)
    for pid in found:
        os.kill(int(pid), signal.SIGKILL)
    record = scene.ended(run)
    expect("the run goes on", record["reason"] == "GOAL", record)
    sent = json.dumps(scene.provider.take()[-1].body["messages"])
    expect("the call failed and says so", "ended while it was at this call" in sent, sent)
    deadline = time.monotonic() + PATIENCE
    while scene.wire.call("mcp/status", scene.where(server="everything"))["servers"][0]["state"] != "ready":
        expect("it is started again", time.monotonic() < deadline)
        time.sleep(0.2)
    expect("it answers again", "42" in texts(scene.results([("mcp.everything.get-sum", {"a": 2, "b": 40})])[0]))
    status = scene.wire.call("mcp/status", scene.where(server="everything"))["servers"][0]
    expect("the restart is counted", status["restarts"] == 1, status)
    watcher.close()


def only_what_is_allowed(scene):
    scene.provider.play([Reply(calls=[Call("end", "complete_task", {"result": "done"})])])
    started = scene.wire.call("run/start", scene.where(agent="few", model="mine/claude-sonnet-4-5", prompt="Go."))
    scene.ended(started["runId"])
    names = sorted(it["name"] for it in scene.provider.take()[0].body["tools"] if it["name"].startswith("mcp"))
    expect("exactly the allowed ones", names == ["mcp__filesystem__list_directory", "mcp__filesystem__read_text_file"], names)
    record = scene.wire.call("events/list", {"filter": {"runId": started["runId"]}, "from": 0})
    warned = [it["data"]["message"] for it in record["events"] if it["type"] == "warning"]
    expect("a server that is away costs a warning", any("`away`" in it for it in warned), warned)


def main():
    few = AGENT.replace("name: user", "name: few").replace(
        "mcp: {servers: [everything, filesystem, memory]}",
        'tools: {allow: ["mcp.filesystem.*", "mcp.away.*"], deny: ["mcp.filesystem.*write*", "mcp.filesystem.edit_file",'
        ' "mcp.filesystem.move_file", "mcp.filesystem.create_directory", "mcp.filesystem.search_files",'
        ' "mcp.filesystem.directory_tree", "mcp.filesystem.get_file_info", "mcp.filesystem.list_allowed_directories",'
        ' "mcp.filesystem.list_directory_with_sizes", "mcp.filesystem.read_file", "mcp.filesystem.read_media_file",'
        ' "mcp.filesystem.read_multiple_files"]}')
    pixel = ("89504e470d0a1a0a0000000d4948445200000001000000010800000000 3a7e9b550000000a49444154789c6360000000020001"
             "48afa4710000000049454e44ae426082").replace(" ", "")
    files = {"note.txt": b"noted\n", "dot.png": bytes.fromhex(pixel)}
    with Provider("anthropic") as provider:
        mine = {"kind": "anthropic", "baseUrl": provider.base_url, "key": {"env": "INTEROP_KEY"}}
        daemon = Daemon(PROGRAMS, {"mine": mine}, {"user": AGENT, "few": few}, files, KEY)
        config = pathlib.Path(daemon.home, "config/subagentd")
        settings = json.loads((config / "settings.json").read_text())
        memory = entry("memory")
        memory["env"] = {"MEMORY_FILE_PATH": str(daemon.work / "memory.jsonl")}
        settings["mcpServers"] = {
            "everything": entry("everything", "stdio"), "filesystem": entry("filesystem", str(daemon.work)), "memory": memory,
            "away": {"command": "/nowhere/server"},
        }
        (config / "settings.json").write_text(json.dumps(settings))
        (config / "policies").mkdir()
        (config / "policies" / "all.toml").write_text(RULES)
        with daemon:
            scene = Scene(daemon, provider)
            for name in ("everything", "filesystem", "memory"):
                status = scene.wire.call("mcp/connect", scene.where(server=name))
                if status["state"] != "ready":
                    print(f"ran: {name} FAILED\n{status}")
                    sys.exit(1)
                print(f"  {name}: {status.get('server')}, {status['tools']} tools")
            case("every tool is listed and called", every_tool, scene)
            case("content of every kind arrives in the provider's form", content_kinds, scene)
            case("progress is seen by others", progress, scene)
            case("a call is cancelled", cancel, scene)
            case("resources and prompts are read", resources_and_prompts, scene)
            case("elicitation is answered from another client", elicitation, scene)
            case("a page to open is agreed to from another client", page, scene)
            case("sampling is allowed from another client", sampling, scene)
            case("kill -9 in a call, and recovery", killed_in_a_call, scene)
            case("lists choose tools, and a server that is away is a warning", only_what_is_allowed, scene)
            scene.wire.close()
    sys.exit(1 if failures else 0)


main()
