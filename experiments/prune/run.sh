#!/bin/sh
# Channels of every group of layers, in f32.
# Usage: experiments/prune/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
"$mscgym" search "$(dirname "$0")/config.json" --out "$out" "$@" || [ $? -eq 3 ]
