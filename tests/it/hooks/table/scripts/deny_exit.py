#!/usr/bin/env python3
"""deny_exit.py CODE: deny in JSON on stdout, then that exit code."""
import json, os, sys, time
sys.stdin.read()
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                         "permissionDecisionReason": "no at any code: 6D6D"}}), flush=True)
sys.exit(int(sys.argv[1]))
