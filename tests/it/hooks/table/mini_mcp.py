#!/usr/bin/env python3
"""A small MCP server on stdio: tools echo, ask (elicits a colour), verdict (a hook's answer); prompt greet.

mini_mcp.py FOLDER: FOLDER/mcp.log keeps a line for each tool call that arrived here."""
import json, sys

folder = sys.argv[1] if len(sys.argv) > 1 else None
waiting = {}          # id of our elicitation -> id of the tool call
next_id = 1000
READ = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "echo", "description": "Says the text again.", "inputSchema": TEXT, "annotations": READ},
    {"name": "ask", "description": "Asks a person for a colour.", "inputSchema": {"type": "object", "properties": {}}, "annotations": READ},
    {"name": "verdict", "description": "Answers as a hook: deny if the text has 'bad' in it.", "inputSchema": TEXT, "annotations": READ},
    {"name": "write", "description": "Not marked as reading.", "inputSchema": TEXT},
]

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def text(call, words):
    send({"id": call, "result": {"content": [{"type": "text", "text": words}], "isError": False}})

for line in sys.stdin:
    message = json.loads(line)
    method, ident, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        send({"id": ident, "result": {"protocolVersion": params.get("protocolVersion", "2025-06-18"),
              "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "mini", "version": "1.0.0"}}})
    elif method == "ping":
        send({"id": ident, "result": {}})
    elif method == "tools/list":
        send({"id": ident, "result": {"tools": TOOLS}})
    elif method == "prompts/list":
        send({"id": ident, "result": {"prompts": [{"name": "greet", "description": "A greeting.",
              "arguments": [{"name": "who", "required": True}]}]}})
    elif method == "prompts/get":
        who = (params.get("arguments") or {}).get("who", "nobody")
        send({"id": ident, "result": {"messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {who}: E1E1"}}]}})
    elif method == "resources/list":
        send({"id": ident, "result": {"resources": []}})
    elif method == "tools/call":
        name, arguments = params.get("name"), params.get("arguments") or {}
        if folder:
            with open(f"{folder}/mcp.log", "a") as log:
                log.write(json.dumps([name, arguments]) + "\n")
        if name == "ask":
            next_id += 1
            waiting[next_id] = ident
            send({"id": next_id, "method": "elicitation/create", "params": {"message": "Which colour? E2E2",
                  "requestedSchema": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}}})
        elif name == "verdict":
            bad = "bad" in arguments.get("text", "")
            text(ident, json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny" if bad else "allow",
                                    "permissionDecisionReason": "an MCP tool says no: E3E3"}}))
        else:
            text(ident, f"{name}: {arguments.get('text', '')}")
    elif method is None and ident in waiting:
        result = message.get("result") or {"action": "error"}
        text(waiting.pop(ident), "elicited: " + json.dumps(result, sort_keys=True))
    elif ident is not None and method is not None:
        send({"id": ident, "error": {"code": -32601, "message": "no such method"}})
