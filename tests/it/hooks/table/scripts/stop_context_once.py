#!/usr/bin/env python3
"""Stop: context instead of a block, unless stop_hook_active: it goes on once."""
import json, sys
event = json.load(sys.stdin)
if not event["stop_hook_active"]:
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "one more thing: D6D6"}}))
