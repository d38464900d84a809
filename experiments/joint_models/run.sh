#!/bin/sh
# Searches precisions and channels of two larger networks, then times each winner together with ONNX Runtime.
# Usage: experiments/joint_models/run.sh MSCGYM OUT [options of mscgym search]
set -eu
mscgym=$1
out=$2
shift 2
here=$(dirname "$0")
root=$here/../..
data=$root/build/experiments/joint_models
ocr=$root/third_party/models/ppocr_det.onnx
# Both are the same every time; what is written last is there when all of it is.
[ -e "$data/photos_labels.npy" ] || "$here/samples" photos "$data"
[ -e "$data/page_7.npy" ] || "$here/samples" pages "$data"

# bench NAME MODEL [options]: what the search found, and ONNX Runtime on the model as it is and quantized, in one run.
bench() {
  name=$1
  model=$2
  shift 2
  [ -e "$out/$name/best/strategy.json" ] || return 0
  "$mscgym" bench "$model" "$@" --targets native --precision f32,int8 \
    --strategy "$out/$name/best/strategy.json" --peer --threads 1 --max-ms 10000 --json >"$out/$name/bench.json"
}

for name in efficientnet_b0 ppocr_det; do
  "$mscgym" search "$here/$name.json" --out "$out/$name" "$@" || [ $? -eq 3 ]
done
# On random inputs: int8 by least and largest values over photographs is too far off to be timed.
bench efficientnet_b0 "$data/efficientnet_b0.onnx"
bench ppocr_det "$ocr" --shape x=1x3x640x640 --input "$data/pages_calibration.npy"

best=$out/ppocr_det/best/strategy.json
if [ -e "$best" ]; then
  for page in 0 1 2 3 4 5 6 7; do
    set -- run "$ocr" --shape x=1x3x640x640 --target native --input "$data/page_$page.npy"
    "$mscgym" "$@" --out "$out/ppocr_det/f32/page_$page" >&2
    "$mscgym" "$@" --strategy "$best" --out "$out/ppocr_det/found/page_$page" >&2
  done
  "$here/samples" masks "$out/ppocr_det/f32" "$out/ppocr_det/found" | tee "$out/ppocr_det/masks.txt"
fi
