#!/usr/bin/env python3
"""Chatty: two lines of text, then a deny in JSON."""
import json, os, sys, time
sys.stdin.read()
print("loading rules")
print("3 rules loaded")
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                         "permissionDecisionReason": "no after text: 8A8A"}}))
