#!/bin/sh
# 3 MB of stderr, nothing on stdout, exit 0.
cat >/dev/null
head -c 3000000 /dev/zero | tr '\0' 'e' >&2
exit 0
