#!/usr/bin/env python3
"""deny_prompt.py WORD: blocks a prompt that has WORD in it."""
import json, sys
event = json.load(sys.stdin)
if sys.argv[1] in event["prompt"]:
    print(json.dumps({"decision": "block", "reason": "a word that must not be said: G5G5"}))
