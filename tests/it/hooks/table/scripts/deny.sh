#!/bin/sh
# PreToolUse: says no in JSON, exit code 0.
cat >/dev/null
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"hook says no: 7F31"}}'
