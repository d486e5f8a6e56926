#!/usr/bin/env python3
"""Says {"async": true, "asyncTimeout": MS} first and works on: async_answer.py MS SECONDS."""
import json, os, sys, time
event = json.load(sys.stdin)
print(json.dumps({"async": True, "asyncTimeout": int(sys.argv[1])}), flush=True)
time.sleep(float(sys.argv[2]))
print(json.dumps({"hookSpecificOutput": {"hookEventName": event["hook_event_name"], "additionalContext": "worked on: D2D2"}}))
