#!/bin/sh
# count.sh FOLDER NAME [DELAY]: after DELAY seconds adds a line NAME to FOLDER/count.
cat >/dev/null
sleep "${3:-0}"
echo "$2" >> "$1/count"
