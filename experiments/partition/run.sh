#!/bin/sh
# The fastest mix of targets: by the exact search over measured regions, in f32 and in int8, and by agents that time
# whole mixes (the env partition, in f32).
# Usage: experiments/partition/run.sh MSCGYM OUT [options of mscgym partition]
set -eu
mscgym=$1
out=$2
shift 2
model=$(dirname "$0")/../models/fashion_resnet.onnx
for precision in f32 int8; do
  "$mscgym" partition "$model" --targets onednn,native,xnnpack --compare collage \
    --precision "$precision" --cache "$out/cache" --out "$out/$precision" "$@"
done
"$mscgym" search "$(dirname "$0")/config.json" --out "$out/search" >&2 || [ $? -eq 3 ]
