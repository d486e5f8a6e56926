#!/bin/sh
# Dies by a signal.
cat >/dev/null
kill -SEGV $$
