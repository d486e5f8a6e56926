#!/bin/sh
# PreToolUse: the SDK's fourth word.
cat >/dev/null
printf '%s\n' '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"defer","permissionDecisionReason":"not for me: 51D0"}}'
