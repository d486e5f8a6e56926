#!/usr/bin/env python3
"""A server of the Model Context Protocol with one tool. It needs nothing but Python 3.

Each line of standard input is a message, and so is each line of standard output; say everything else on standard error.
Name it in the settings of subagentd, try it with `subagent mcp connect mine`, and let an agent use it:

    mcp:
      servers: [mine]
"""

import json
import sys

TOOLS = [
    {
        "name": "word_count",
        "description": "Counts the words of a text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text."}},
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": True},
    }
]


def call(name, arguments):
    """The text that a call of a tool answers. What it raises becomes a failure that the model reads."""
    if name == "word_count":
        return str(len(arguments["text"].split()))
    raise ValueError(f"there is no tool {name}")


def answer(method, params):
    """The result of a request, or None for a question that nobody here knows."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mine", "version": "0.1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        try:
            text, failed = call(params["name"], params.get("arguments") or {}), False
        except Exception as error:
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        # What has no id is a notification: nobody waits for an answer.
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": f"unknown method {message['method']}"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
