#!/bin/sh
# Says no, but is configured as async: too late to decide anything.
cat >/dev/null
sleep 0.2
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"too late: 1C1C"}}'
