#!/bin/sh
# text.sh WORDS: plain text on stdout, no JSON.
cat >/dev/null
printf '%s\n' "$1"
