#!/bin/sh
# Exit code 2 with words on stderr.
cat >/dev/null
echo "stopped by block2: blue door" >&2
exit 2
