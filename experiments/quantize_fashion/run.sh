#!/bin/sh
# Precisions of every layer, as scripts/demo searches them.
# Usage: experiments/quantize_fashion/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
"$mscgym" search "$(dirname "$0")/config.json" --out "$out" "$@" || [ $? -eq 3 ]
