#!/bin/sh
# write_to.sh PATH: writes there; always ends with 0 and leaves the outcome to whoever looks.
cat >/dev/null
echo "written by a hook" > "$1" 2>/dev/null
exit 0
