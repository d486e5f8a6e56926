#!/usr/bin/env python3
"""long_context.py N: N characters of context: "HEAD", many x, "TAIL"."""
import json, os, sys, time
event = json.load(sys.stdin)
n = int(sys.argv[1])
print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"],
                                         "additionalContext": "HEAD-C0DE" + "x" * (n - 18) + "TAIL-C0DE"}}))
