#!/usr/bin/env python3
"""gemini_input.py KEY VALUE: Gemini CLI's tool_input with this one key only: merged, not replaced."""
import json, os, sys, time
event = json.load(sys.stdin)
print(json.dumps({"decision": "allow", "hookSpecificOutput": {"hookEventName": "BeforeTool",
      "tool_input": {sys.argv[1]: sys.argv[2].replace("{cwd}", event["cwd"])}}}))
