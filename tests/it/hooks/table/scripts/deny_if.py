#!/usr/bin/env python3
"""deny_if.py KEY END: denies if the argument KEY ends with END, else says nothing."""
import json, os, sys, time
event = json.load(sys.stdin)
if str(event["tool_input"].get(sys.argv[1], "")).endswith(sys.argv[2]):
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                             "permissionDecisionReason": "not this one: 7B7B"}}))
