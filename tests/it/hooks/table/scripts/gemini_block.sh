#!/bin/sh
# Gemini CLI's contract: `block` is the same as `deny`.
cat >/dev/null
printf '%s\n' '{"decision":"block","reason":"gemini hook blocks: B2B2"}'
