#!/bin/sh
# Floods stdout until it is ended.
cat >/dev/null
exec yes "nothing but noise"
