#!/usr/bin/env python3
"""elicit.py accept|decline|cancel: answers of Elicitation and ElicitationResult."""
import json, os, sys, time
event = json.load(sys.stdin)
answer = {"hookEventName": event["hook_event_name"], "action": sys.argv[1]}
if sys.argv[1] == "accept":
    answer["content"] = {"color": "hook-green"}
print(json.dumps({"hookSpecificOutput": answer}))
