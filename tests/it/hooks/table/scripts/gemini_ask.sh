#!/bin/sh
cat >/dev/null
printf '%s\n' '{"decision":"ask","reason":"gemini hook wants a look: B4B4"}'
