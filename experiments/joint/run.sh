#!/bin/sh
# Three searches with one budget: precisions alone, channels alone, both together.
# Usage: experiments/joint/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
here=$(dirname "$0")
for env in quantize prune compress; do
  "$mscgym" search "$here/config.json" --env "$env" --out "$out/$env" "$@" || [ $? -eq 3 ]
done
