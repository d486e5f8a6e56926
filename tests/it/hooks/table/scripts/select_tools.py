#!/usr/bin/env python3
"""select_tools.py NAME... | NONE: Gemini CLI's answers of BeforeToolSelection."""
import json, os, sys, time
sys.stdin.read()
if sys.argv[1:] == ["NONE"]:
    config = {"mode": "NONE"}
else:
    config = {"mode": "AUTO", "allowedFunctionNames": sys.argv[1:]}
print(json.dumps({"hookSpecificOutput": {"hookEventName": "BeforeToolSelection", "toolConfig": config}}))
