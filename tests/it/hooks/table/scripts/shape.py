#!/usr/bin/env python3
"""shape.py KIND: JSON of a wrong shape."""
import json, os, sys, time
sys.stdin.read()
print({
    "decision-number": '{"decision": 7}',
    "continue-string": '{"continue": "maybe"}',
    "output-string": '{"hookSpecificOutput": "deny"}',
    "unknown-decision": '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "maybe"}}',
    "input-list": '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": [1, 2]}}',
    "trailing-comma": '{"decision": "approve", }',
    "cut-off": '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "al',
    "context-number": '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": 5}}',
}[sys.argv[1]])
