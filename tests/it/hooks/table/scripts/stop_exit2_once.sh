#!/bin/sh
# stop_exit2_once.sh FOLDER: the first time exit 2 with words, then lets go.
cat >/dev/null
if [ ! -e "$1/stopped-once" ]; then
    : > "$1/stopped-once"
    echo "tests were not run: D5D5" >&2
    exit 2
fi
