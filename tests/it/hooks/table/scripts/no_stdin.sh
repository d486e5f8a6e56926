#!/bin/sh
# Never reads stdin and ends well: a broken pipe is no failure of the hook.
exit 0
