#!/bin/sh
# Exit 2 with its words on stdout and nothing on stderr, as published hooks do.
cat >/dev/null
echo "BLOCKED: use uv instead"
exit 2
