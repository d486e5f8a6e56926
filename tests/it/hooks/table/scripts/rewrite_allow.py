#!/usr/bin/env python3
"""rewrite_allow.py KEY VALUE: changes one argument and says allow, as many published hooks do."""
import json, os, sys, time
event = json.load(sys.stdin)
changed = dict(event["tool_input"])
changed[sys.argv[1]] = sys.argv[2].replace("{cwd}", event["cwd"])
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                         "permissionDecisionReason": "rewritten: 7A7A", "updatedInput": changed}}))
