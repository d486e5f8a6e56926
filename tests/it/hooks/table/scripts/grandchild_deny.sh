#!/bin/sh
# Says no, ends, and leaves a process behind that holds the pipe.
cat >/dev/null
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no, and a child stays: 60BB"}}'
sleep 985 &
exit 0
