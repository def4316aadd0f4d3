#!/usr/bin/env bash
# The GPU set: accgate beside vLLM's own offline chat, on a machine with CUDA and vLLM, in under 10 minutes.
#
#   benchmarks/gpu.sh MODEL [ARGUMENT...]     PYTHON names vLLM's Python, OUT the folder of results (gpu-out)
#
# MODEL is a folder or hub id, of the 8B class where the card holds it twice; arguments go to throughput.py. Without weights
# the shape of a model is enough:  --option 'load_format="dummy"' --option 'hf_overrides={ num_hidden_layers = 32 }'
# Nothing is installed: accgate runs from the checkout, on packages that vLLM brings. Results are JSON, one file a benchmark.
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
model=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-gpu-out}
python=${PYTHON:-python3}
export VLLM_NO_USAGE_STATS=1
mkdir -p "$out"

memory() { # MiB in use on each card
  nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | paste -sd' ' || true
}

throughput() { # NAME SECONDS ARGUMENT...: one run, at most so long
  local name=$1 limit=$2 code=0
  shift 2
  timeout --kill-after=20 "$limit" "$python" "$root/benchmarks/throughput.py" --engine vllm --model "$model" \
    --option gpu_memory_utilization=0.42 --json "$@" >"$out/$name.json.part" || code=$?
  if ((code)); then
    echo "gpu.sh: $name ended with exit code $code" >&2
    rm -f "$out/$name.json.part"
    return "$code"
  fi
  mv "$out/$name.json.part" "$out/$name.json"
  echo "$name: $(cat "$out/$name.json")"
}

"$python" -c 'import torch, vllm; assert torch.cuda.is_available(); print("vLLM", vllm.__version__, "on", torch.cuda.get_device_name())' \
  2>"$out/check.log" || { echo "gpu.sh: needs CUDA and vLLM in $python; see $out/check.log" >&2; exit 3; }

before=$(memory)
failed=0
# Short replies to prompts that share their head, as a gate on a multiple-choice task asks them: most requests a second.
throughput shots5 330 --chats 2048 --pairs 5 --shots 5 --max-tokens 16 "$@" || failed=1
# Long replies; left out where the first run took too much of the 10 minutes.
if ((SECONDS < 290)); then
  throughput replies $((590 - SECONDS)) --chats 1024 --pairs 3 --shots 0 --max-tokens 128 "$@" || failed=1
fi
sleep 3
echo "GPU memory in use, MiB: before $before, after $(memory)"
exit "$failed"
