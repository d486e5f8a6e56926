#!/usr/bin/env python3
"""context.py WORDS [DELAY]: additionalContext for whatever event it is called at."""
import json, os, sys, time
event = json.load(sys.stdin)
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "additionalContext": sys.argv[1]}}))
