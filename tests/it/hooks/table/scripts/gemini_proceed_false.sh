#!/bin/sh
# `proceed: false` is a block.
cat >/dev/null
printf '%s\n' '{"proceed":false,"reason":"do not proceed: B3B3"}'
