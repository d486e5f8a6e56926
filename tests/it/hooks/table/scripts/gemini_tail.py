#!/usr/bin/env python3
"""gemini_tail.py NAME JSON-ARGUMENTS: asks for a follow-up call, after each call."""
import json, os, sys, time
event = json.load(sys.stdin)
print(json.dumps({"hookSpecificOutput": {"hookEventName": "AfterTool", "tailToolCallRequest": {
    "name": sys.argv[1], "args": json.loads(sys.argv[2])}}}))
