#!/bin/sh
# A message for people and nothing else. Valid at every event.
cat >/dev/null
printf '%s\n' '{"systemMessage":"for people only: 3E77"}'
