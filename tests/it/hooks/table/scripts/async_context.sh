#!/bin/sh
# async_context.sh EVENT: takes 0.4 s, then has context for EVENT. Set `async: true` in the settings.
cat >/dev/null
sleep 0.4
printf '{"hookSpecificOutput":{"hookEventName":"%s","additionalContext":"late news: 8D8D"}}\n' "$1"
