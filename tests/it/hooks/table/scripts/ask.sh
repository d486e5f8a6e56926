#!/bin/sh
# PreToolUse: wants a person to look.
cat >/dev/null
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"please look: 44C1"}}'
