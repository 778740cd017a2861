#!/bin/bash
# Train an encoder with a constant rate, and decay a copy at each of several numbers of tokens.
#
#   bash benchmarks/pretrain/schedule.sh BASE NAME SIZE RATE SEED MILLION...
#
# BASE/text is the prepared text. The constant-rate run is BASE/runs/NAME; the encoder of MILLION million tokens is
# BASE/runs/NAME-MILLION/encoder. The same command resumes. Without a checkpoint, the run begins at the restart point
# benchmarks/pretrain/stages/NAME if there is one; then give only numbers that are larger than its tokens. OPTIONS are
# further options of benchmarks.pretrain.train, such as OPTIONS="--device cuda --tokens 32768" for a GPU.
set -eu
base=$1 name=$2 size=$3 rate=$4 seed=$5
shift 5
export OMP_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false TORCHINDUCTOR_CACHE_DIR=$base/compiled/$name

train() {
  ${PYTHON:-python} -u -m benchmarks.pretrain.train --text "$base/text" --size "$size" --rate "$rate" --seed "$seed" \
    --precision bf16 --compile --look-every 2500 ${OPTIONS-} "$@" >> "$base/$name.log" 2>&1 &
  echo $! > "$base/$name.pid" # a SIGTERM to this process writes a checkpoint and ends the schedule
  wait $!
}

restart=()
if [ -d "benchmarks/pretrain/stages/$name" ]; then restart=(--restart "benchmarks/pretrain/stages/$name"); fi
for million in "$@"; do
  if [ -f "$base/runs/$name-$million/run.json" ]; then continue; fi
  train --out "$base/runs/$name" --until "$((million * 9 / 10))" "${restart[@]}"
  train --out "$base/runs/$name-$million" --decay-from "$base/runs/$name"
done
