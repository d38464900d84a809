#!/bin/sh
# One goal of three objectives, one number of trials, four agents.
# Usage: experiments/multi_objective/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
here=$(dirname "$0")
for agent in random motpe nsga2 auto; do
  "$mscgym" search "$here/config.json" --agent "$agent" --cache "$out/cache" --out "$out/$agent" "$@" ||
    [ $? -eq 3 ]
done
