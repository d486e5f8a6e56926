#!/bin/sh
# PreToolUse: says yes in JSON, exit code 0.
cat >/dev/null
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"looks fine: 9A20"}}'
