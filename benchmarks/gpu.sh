#!/usr/bin/env bash
# The GPU set: accgate on a machine with CUDA and vLLM, in under 40 minutes on one H100.
#
#   benchmarks/gpu.sh MODEL [ARGUMENT...]     PYTHON names vLLM's Python, OUT the folder of results (gpu-out)
#   STEPS="checks options throughput gate"    which parts; checks alone takes at most 10 minutes
#
# MODEL is a folder or hub id, of the 8B class where the card holds it twice; arguments are options of every engine. Without
# weights the shape of a model is enough:  --option 'load_format="dummy"' --option 'hf_overrides={ num_hidden_layers = 32 }'
# Throughput needs nothing installed: accgate runs from the checkout, on packages that vLLM brings. The gate needs accgate's
# own packages too, options lm-evaluation-harness. Results are JSON, one file a benchmark; one that fails leaves the others.
#
#   checks     what only a GPU shows, each with the expected result: gpu_checks.py prints ok, differs, left out or failed
#   options    likelihoods beside lm-evaluation-harness' own model: expected is a ratio of 3 or more, and equal choices
#   shots5     beside LLM.chat: short replies to prompts that share their head, as a multiple-choice task asks them
#   nocache    the same without prefix caching: what the shared head saves
#   invariant  the same with batch-invariant kernels, on both sides: what they cost
#   replies    beside LLM.chat: long replies
#   gate-*     `record` of the model as it is, then `run`: of the same again (its kernels compiled), of its weights in fp8,
#              of its cache in fp8, and of the same with invariant kernels, twice: seconds to the first answer and to the end
set -euo pipefail
[[ $# -ge 1 ]] || { sed -n '2,20s/^# \{0,1\}//p' "$0" >&2; exit 2; }
model=$1
[[ ! -e $model ]] || model=$(realpath "$model")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
out=${OUT:-gpu-out}
python=${PYTHON:-python3}
most=2390 # seconds in all
steps=${STEPS:-checks options throughput gate}
failed=0
export VLLM_NO_USAGE_STATS=1 PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
mkdir -p "$out"

memory() { # MiB in use on each card
  nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits 2>/dev/null | paste -sd' ' || true
}

seconds_left() { # AT_MOST: seconds that the next step may take; fails where there are too few
  local left=$((most - SECONDS))
  ((left > 60)) || return 1
  echo $((left < $1 ? left : $1))
}

has_step() { [[ " $steps " == *" $1 "* ]]; } # NAME

checks() { # ARGUMENT...: each check's line, as it comes
  local limit code=0
  limit=$(seconds_left 590) || return
  timeout --kill-after=20 "$limit" "$python" "$root/benchmarks/gpu_checks.py" --model "$model" \
    --option max_model_len=4096 --option gpu_memory_utilization=0.85 "$@" 2>"$out/checks.log" | tee "$out/checks.txt" || code=$?
  ((code == 0)) || { echo "gpu.sh: checks ended with exit code $code; see $out/checks.txt and checks.log" >&2; failed=1; }
}

throughput() { # NAME SECONDS ARGUMENT...: one run, at most so long
  local name=$1 seconds=$2
  shift 2
  measure "$name" "$seconds" throughput.py --engine vllm --json "$@"
}

measure() { # NAME SECONDS SCRIPT ARGUMENT...: one benchmark with two engines on one card, at most so long
  local name=$1 limit code=0 script=$3
  limit=$(seconds_left "$2") || { echo "gpu.sh: no time left for $name" >&2; failed=1; return; }
  shift 3
  timeout --kill-after=20 "$limit" "$python" "$root/benchmarks/$script" --model "$model" \
    --option gpu_memory_utilization=0.42 "$@" >"$out/$name.json.part" 2>"$out/$name.log" || code=$?
  if ((code)); then
    echo "gpu.sh: $name ended with exit code $code; see $out/$name.log" >&2
    rm -f "$out/$name.json.part"
    failed=1
    return
  fi
  mv "$out/$name.json.part" "$out/$name.json"
  echo "$name: $(cat "$out/$name.json")"
}

options_of() { # [--option KEY=VALUE]...: lines of accuracy.toml
  while (($#)); do
    [[ $1 == --option ]] && { echo "${2%%=*} = ${2#*=}"; shift; }
    shift
  done
}

table() { # NAME VARIANT BASELINE OPTION...: a model of accuracy.toml
  local name=$1 variant=$2 baseline=$3
  shift 3
  printf '[models.%s]\nengine = "vllm"\nmodel = "%s"\nvariant = { kind = "%s" }\n' "$name" "$model" "$variant"
  [[ -z $baseline ]] || printf 'baseline = "%s"\n' "$baseline"
  printf '[models.%s.options]\nmax_model_len = 4096\n%s\n' "$name" "$given"
  (($# == 0)) || printf '%s\n' "$@"
}

gate() { # NAME COMMAND MODEL: one command of accgate on one model; seconds to the first answer, and to the end
  local name=gate-$1 command=$2 of=$3 limit code=0 began first=null records
  limit=$(seconds_left 240) || { echo "gpu.sh: no time left for $name" >&2; failed=1; return; }
  began=$(date +%s.%N)
  records="$out/$name/$of/arithmetic.jsonl"
  rm -rf "${out:?}/$name"
  timeout --kill-after=20 "$limit" "$python" -m accgate "$command" "$out/accuracy.toml" --models "$of" \
    --out "$out/$name" --quiet >"$out/$name.log" 2>&1 &
  local process=$!
  while kill -0 "$process" 2>/dev/null; do
    if [[ $first == null && -s $records ]]; then first=$(since "$began"); fi
    sleep 0.1
  done
  wait "$process" || code=$?
  printf '{"exit_code": %s, "first_answer_s": %s, "end_s": %s, "samples": %s}\n' "$code" "$first" "$(since "$began")" \
    "$({ wc -l <"$records"; } 2>/dev/null || echo 0)" >"$out/$name.json"
  echo "$name: $(cat "$out/$name.json")"
  case $code in 0 | 1 | 4) ;; *) echo "gpu.sh: see $out/$name.log" >&2; failed=1 ;; esac
}

since() { # TIME: seconds from then, to a tenth
  awk -v then="$1" -v now="$(date +%s.%N)" 'BEGIN { printf "%.1f", now - then }'
}

"$python" -c 'import torch, vllm; assert torch.cuda.is_available(); print("vLLM", vllm.__version__, "on", torch.cuda.get_device_name())' \
  2>"$out/check.log" || { echo "gpu.sh: needs CUDA and vLLM in $python; see $out/check.log" >&2; exit 3; }

before=$(memory)
if has_step checks; then checks "${@}"; fi
if has_step options; then
  if "$python" -c 'import lm_eval' 2>>"$out/check.log"; then
    measure options 420 options.py --option max_model_len=4096 "$@"
  else
    echo "gpu.sh: options needs lm-evaluation-harness in $python: pip install lm_eval" >&2
    failed=1
  fi
fi
short=(--chats 2048 --shots 5 --max-tokens 16)
if has_step throughput; then
  throughput shots5 330 "${short[@]}" --pairs 5 "$@"
  throughput nocache 240 "${short[@]}" --pairs 1 --option enable_prefix_caching=false "$@"
  VLLM_BATCH_INVARIANT=1 throughput invariant 300 "${short[@]}" --pairs 1 "$@"
  throughput replies 240 --chats 1024 --pairs 2 --shots 0 --max-tokens 128 "$@"
fi

if ! has_step gate; then
  echo "gpu.sh: without the gate"
elif "$python" -m accgate --version >>"$out/check.log" 2>&1; then
  given=$(options_of "$@")
  { # random weights answer nothing that could be read, so all may be unread
    printf '[gate]\nreferences = "references"\n[tasks.arithmetic]\noptions = { high = 999 }\nnum_samples = 2000\n'
    printf 'theta = 3.0\nmax_unread = 1.0\n'
    table plain bf16 ""
    table fp8 fp8 "plain@kind=bf16" 'quantization = "fp8"'
    table cache8 kv8 "plain@kind=bf16" 'kv_cache_dtype = "fp8"'
    table fixed invariant "" 'batch_invariant = true'
  } >"$out/accuracy.toml"
  rm -rf "${out:?}/references"
  gate record record plain
  gate again run plain
  gate fp8 run fp8
  gate cache8 run cache8
  gate fixed-record record fixed
  gate fixed-again run fixed
else
  echo "gpu.sh: the gate needs accgate's packages in $python; see $out/check.log" >&2
  failed=1
fi
sleep 3
echo "GPU memory in use, MiB: before $before, after $(memory); ${SECONDS} s in all"
exit "$failed"
