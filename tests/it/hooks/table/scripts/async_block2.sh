#!/bin/sh
# asyncRewake: 0.4 s later exit 2 with words.
cat >/dev/null
sleep 0.4
echo "tests are red: 2F9E" >&2
exit 2
