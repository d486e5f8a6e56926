#!/bin/sh
# Gemini CLI's contract: decision deny with a reason.
cat >/dev/null
printf '%s\n' '{"decision":"deny","reason":"gemini hook says no: B1B1"}'
