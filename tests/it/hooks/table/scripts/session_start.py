#!/usr/bin/env python3
"""SessionStart: a title and context."""
import json, os, sys, time
event = json.load(sys.stdin)
print(json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "sessionTitle": "Titled by a hook: A0A0",
                                         "additionalContext": "house rule: A1A1"}}))
