#!/bin/sh
# Sleeps far longer than any time-out of the table. Dies at TERM.
cat >/dev/null
exec sleep 987
