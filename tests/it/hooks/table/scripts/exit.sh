#!/bin/sh
# exit.sh CODE: a few words on stderr, then that exit code.
cat >/dev/null
echo "broken: pump $1" >&2
exit "$1"
