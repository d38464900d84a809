#!/bin/sh
# Schedules of every kernel that native compiles.
# Usage: experiments/schedule/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
"$mscgym" search "$(dirname "$0")/config.json" --out "$out" "$@" || [ $? -eq 3 ]
