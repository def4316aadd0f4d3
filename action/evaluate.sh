#!/usr/bin/env bash
# Host step 3: the container with the GPU and the models, and without any token.
#
# Reads: ACCGATE_WORK and the inputs as ACCGATE_*. Writes out/, exit-code and log.txt in the work folder. It fails the
# job only for inputs that it cannot use: otherwise the publishing step decides.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work=$ACCGATE_WORK
: "${ACCGATE_ENV:=}"
name=   # of the container that runs, or is about to
searching= # set while the second container finds out what explains a regression
cancelled=
readonly GRACE=4 # seconds for what is in flight when the job is cancelled

# Whether the commit's config runs vLLM here, as an engine or as a server's command. It is only told.
names_vllm() { grep -qsE "^[^#]*[\"']vllm[\"'.]" "$work/head/$(config_path "$ACCGATE_CONFIG")"; }

# gpus as docker wants it: `all`, `"device=0,1"` with the quotes, or nothing.
gpus_option() {
  local wanted=${ACCGATE_GPUS:-auto} whose=gpus
  if [[ ${wanted,,} == auto ]]; then
    # A runner that was itself given some of the machine's GPUs; all of them, as images of CUDA say, is no choice.
    if [[ -v NVIDIA_VISIBLE_DEVICES && ${NVIDIA_VISIBLE_DEVICES,,} != all ]]; then
      whose="NVIDIA_VISIBLE_DEVICES on this runner" wanted=${NVIDIA_VISIBLE_DEVICES:-none}
    elif [[ -v CUDA_VISIBLE_DEVICES && " ${ACCGATE_ENV//,/ } " != *" CUDA_VISIBLE_DEVICES "* ]]; then
      whose="CUDA_VISIBLE_DEVICES on this runner" wanted=${CUDA_VISIBLE_DEVICES// /}
      wanted=${wanted%%,-1*} # CUDA takes none from a -1 on
      case ${wanted:=none} in -1* | NoDevFiles) wanted=none ;; esac
    elif [[ -v NVIDIA_VISIBLE_DEVICES ]]; then
      wanted=all
    elif command -v nvidia-smi >/dev/null; then
      ask_driver
      wanted=all
    else
      wanted=none
      ! names_vllm ||
        notice "this runner has no nvidia-smi, so the container gets no GPU, and vLLM of $ACCGATE_CONFIG wants one. Is this the right runner? gpus: none is for a vLLM on the processor"
    fi
  fi
  wanted=$(printf '%s' "$wanted" | sed 's/ *, */,/g; s/^ *//; s/ *$//')
  wanted=${wanted//runtime.nvidia.com\/gpu=/}
  case ${wanted,,} in
    # The vLLM image asks for all; void keeps GPUs out where the engine's default runtime is NVIDIA's.
    none | void) printf '%s\n' --env NVIDIA_VISIBLE_DEVICES=void ;;
    all) printf '%s\n' --gpus all ;;
    *)
      local cdi='[a-z0-9.-]+/[a-z0-9.-]+=[A-Za-z0-9:._-]+' device='[0-9]+(:[0-9]+)?|(GPU|MIG)-[A-Za-z0-9/-]+'
      if [[ $wanted =~ ^$cdi(,$cdi)*$ ]]; then # names of the Container Device Interface, which nothing else may add GPUs to
        printf -- '--device\n%s\n' "${wanted//,/$'\n--device\n'}"
        printf '%s\n' --env NVIDIA_VISIBLE_DEVICES=void
      elif [[ $wanted =~ ^($device)(,($device))*$ ]]; then
        printf '%s\n' --gpus "\"device=$wanted\""
      else
        fail 2 "$whose is '$wanted'; write auto, all, none, indices or UUIDs such as 0,1, or devices such as nvidia.com/gpu=0 as gpus"
      fi
      ;;
  esac
}

# Ends the job where nvidia-smi finds no GPU, or not all: on the processor a model would seem to hang. All of its output is
# read, since 8 GPUs can have 56 parts. One that a lost GPU blocks cannot be killed; so it is left alone.
ask_driver() {
  local process code=0 said fix="Repair the driver or take another runner; for a model that needs no GPU write gpus: none"
  (ulimit -f 1024 && exec nvidia-smi -L) </dev/null >"$work/gpus.txt" 2>&1 {runner}>&- &
  process=$!
  timeout 60 tail --pid="$process" --sleep-interval=0.1 -f /dev/null ||
    { kill -KILL "$process" || true; fail 3 "nvidia-smi does not answer within 60 seconds, as with a lost GPU. $fix"; }
  wait "$process" || code=$?
  said=$(grep -vE '^GPU [0-9]+:|^[[:space:]]+MIG |^[[:space:]]*$' "$work/gpus.txt" | head -c 1000) || true
  grep -q '^GPU [0-9]' "$work/gpus.txt" || code=$((code + 1000))
  case $code/$said in
    0/) ;;
    0/*lost* | 0/*'Unable to'* | 0/*'Unknown Error'*) fail 3 "nvidia-smi misses a GPU: $said. $fix" ;;
    0/* | 14/*) notice "nvidia-smi says: $said" ;; # 14: a corrupt infoROM, with which a GPU works
    *) fail 3 "nvidia-smi fails on this runner (code $((code % 1000))): ${said:-it names no GPU}. $fix" ;;
  esac
}

# Variables by name. Those that hold or lead to a credential of GitHub's are refused, whoever named them.
env_options() {
  local variables variable
  read -r -d '' -a variables <<<"${ACCGATE_ENV//,/ }" || true
  for variable in "${variables[@]}"; do
    [[ $variable =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] ||
      fail 2 "env holds '$variable'; write only names of variables, and set their values in the step's env:"
    case ${variable^^} in
      GITHUB_* | GH_* | ACCGATE_* | ACTIONS_* | INPUT_* | RUNNER_* | DOCKER_* | GIT_* | SSH_AUTH_SOCK)
        fail 2 "env names $variable, which is not passed: no credential of GitHub may reach the evaluating container" ;;
      PATH | HOME | USER | LOGNAME | LD_* | PYTHONHOME | PYTHONPATH | PYTHONSAFEPATH | PYTHONSTARTUP) fail 2 "env names $variable, which the action sets itself" ;;
    esac
    case ${!variable:-} in
      ghp_* | gho_* | ghu_* | ghs_* | ghr_* | github_pat_*)
        fail 2 "env names $variable, whose value looks like a token of GitHub; no such token may reach the evaluating container" ;;
      '') notice "the variable $variable is empty on this runner" ;;
    esac
    printf '%s\n' --env "$variable"
  done
}

# What the container may take, so that a runaway model leaves the machine usable.
limits() {
  local memory=${ACCGATE_MEMORY:-auto} processes=${ACCGATE_PIDS_LIMIT:-32768} kilobytes runners
  if [[ $memory == auto ]]; then
    # GitHub's runners on this machine may all have a job, and each takes its share.
    runners=$(cat /proc/[0-9]*/comm 2>/dev/null | grep -cx Runner.Listener) || true
    kilobytes=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)
    memory=$((kilobytes * 9 / 10 / (runners > 1 ? runners : 1)))k
    [[ $runners -lt 2 ]] || notice "$runners runners share this machine: the container gets nine tenths of its memory divided by $runners; the input memory sets another amount"
  fi
  [[ $memory =~ ^[1-9][0-9]*[bkmg]?$ ]] || fail 2 "memory is '$memory'; write auto, or an amount such as 64g"
  [[ $processes =~ ^[1-9][0-9]*$ ]] || fail 2 "pids-limit is '$processes'; write a number of processes and threads such as 32768"
  printf '%s\n' --memory "$memory" --pids-limit "$processes"
}

whole_number() { # INPUT VALUE EXAMPLE
  [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || fail 2 "$1 is '$2'; write a whole number such as $3"
  printf '%s' "$2"
}

# Words after white space, as they are: no shell evaluates them.
docker_options() {
  local options
  read -r -d '' -a options <<<"${ACCGATE_DOCKER_OPTIONS:-}" || true
  [[ ${#options[@]} -gt 0 ]] || return 0
  case ${options[*]} in *docker.sock*) fail 2 "docker-options mounts the docker socket, through which a model could reach the token" ;; esac
  printf '%s\n' "${options[@]}"
}

cache_folder() {
  local folder=${ACCGATE_CACHE_DIR:-} other
  if [[ -z $folder ]]; then
    [[ ${ACCGATE_COMMAND:-run} == merge ]] || ! names_vllm || notice "vLLM loads its weights and compiles its kernels and graphs anew in every job, which takes minutes. Set the input cache-dir to a folder on the runner"
    printf '%s' "$work/cache"
    return
  fi
  [[ $folder == /* ]] || fail 2 "cache-dir is '$folder'; write an absolute path on the runner"
  mkdir -p "$folder" 2>/dev/null && [[ -w $folder ]] || fail 3 "cache-dir $folder cannot be written by $(id -un)"
  other=$(find "$folder" -maxdepth 4 -type d ! -writable -print -quit 2>/dev/null) || true
  [[ -z $other ]] || notice "cache-dir holds $other, which $(stat --format %U "$other") made and $(id -un) cannot write: where a download fails, give each user a cache-dir of its own, or change the owner"
  printf '%s' "$folder"
}

# Of an image named by its digest every file is known, which the cache of answers needs to know. Options may mount more.
image_digest() {
  [[ -z ${ACCGATE_DOCKER_OPTIONS:-} && $ACCGATE_IMAGE =~ @(sha256:[0-9a-f]{64})$ ]] || return 0
  printf '%s\n' --env "ACCGATE_IMAGE_DIGEST=${BASH_REMATCH[1]}"
}

# Where the paths of [models] start: what a job made before is there for models, and nothing else is read there.
models_folder() { dirname "$INSIDE/workspace/${ACCGATE_CONFIG#./}"; }

# The command and its arguments, one a line; values follow = so that none is taken for an option.
arguments() {
  local config command=${ACCGATE_COMMAND:-run} shard
  config=$(config_path "$ACCGATE_CONFIG")
  printf '%s\n' "$command"
  if [[ $command == merge ]]; then
    for shard in "$work"/shards/*/; do
      [[ -d $shard ]] || fail 2 "shards is '${ACCGATE_SHARDS:-}', which holds no folder of a shard; download the artifacts first"
      printf '%s\n' "$INSIDE/shards/$(basename "$shard")"
    done
    printf '%s\n' --config
  fi
  printf '%s\n' "$INSIDE/head/$config" --out "$INSIDE/out"
  [[ $command == merge ]] || printf '%s\n' --workspace "$(models_folder)" # merge loads no model
  [[ -z ${ACCGATE_MODELS:-} ]] || printf '%s\n' "--models=$(one_line "$ACCGATE_MODELS")"
  [[ -z ${ACCGATE_TASKS:-} ]] || printf '%s\n' "--tasks=$(one_line "$ACCGATE_TASKS")"
  if [[ $command == record ]]; then
    [[ -z ${ACCGATE_REASON:-} ]] || printf '%s\n' "--reason=$(one_line "$ACCGATE_REASON")"
    ! truth missing "${ACCGATE_MISSING:-}" || printf '%s\n' --missing
    return
  fi
  # Where no base decides, the commit's own rules may name no file outside of their repository either.
  if [[ -n ${ACCGATE_BASE_SHA:-} ]]; then printf '%s\n' --base "$INSIDE/base/$config"; else printf '%s\n' --tree "$INSIDE/head"; fi
  [[ -z ${ACCGATE_SHARD:-} ]] || printf '%s\n' "--shard=$(one_line "$ACCGATE_SHARD")"
  ! truth html-report "${ACCGATE_HTML_REPORT:-}" || printf '%s\n' --html
  [[ $command != run ]] || ! truth whole "${ACCGATE_WHOLE:-}" || printf '%s\n' --whole
}

# `record` writes references beside the config: into a copy, from which the host takes the reference files back.
mounts() {
  local head=$work/head
  if [[ ${ACCGATE_COMMAND:-run} == record ]]; then
    cp -a --reflink=auto "$work/head" "$work/recorded"
    bind "$work/recorded" "$INSIDE/head"
  else
    bind "$head" "$INSIDE/head" readonly
  fi
  bind "$work/base" "$INSIDE/base" readonly
  bind "$work/workspace" "$INSIDE/workspace" readonly
  if [[ -n $searching ]]; then # the result stands, whatever this container does
    bind "$work/out" "$INSIDE/out" readonly
    bind "$work/blame" "$INSIDE/blame"
  else
    bind "$work/out" "$INSIDE/out"
  fi
  bind "$work/home" /home/accgate
  bind "$cache" /cache
  in_empty_folder
  [[ ! -d $work/shards ]] || bind "$work/shards" "$INSIDE/shards" readonly
}

take_shards() {
  [[ ${ACCGATE_COMMAND:-run} == merge ]] || return 0
  local folder=${ACCGATE_SHARDS:-}
  [[ -n $folder && -d $folder ]] || fail 2 "shards is '$folder'; for command merge, name the folder into which the shards' artifacts were downloaded"
  mkdir "$work/shards"
  tar -C "$folder" -cf - . | tar -C "$work/shards" --no-same-owner -xf -
}

# The folder of references as accuracy.toml has it under [gate], by its path in the repository. Another spelling than the
# usual ones, or a path that leaves the repository, is no folder: nothing is copied then.
references_folder() {
  local config line table='' name=references folder
  config=$(config_path "$ACCGATE_CONFIG")
  while IFS= read -r line || [[ -n $line ]]; do
    if [[ $line =~ ^[[:space:]]*\[ ]]; then
      table=${line%%#*}
      table=${table//[[:space:]]/}
    elif [[ $table == '[gate]' && $line =~ ^[[:space:]]*references[[:space:]]*=[[:space:]]*(.*) ||
      -z $table && $line =~ ^[[:space:]]*gate\.references[[:space:]]*=[[:space:]]*(.*) ]]; then
      line=${BASH_REMATCH[1]}
      [[ $line =~ ^\"([^\"\\]+)\" || $line =~ ^\'([^\']+)\' ]] || return 1
      name=${BASH_REMATCH[1]}
    fi
  done <"$work/head/$config"
  [[ $name != /* ]] || return 1
  folder=$(realpath -ms "/repository/$(dirname "$config")/$name")
  [[ $folder == /repository/?* ]] || return 1
  printf '%s' "${folder#/repository/}"
}

# The checkout of the commits in the workspace, through no link.
checkout_folder() { realpath "$GITHUB_WORKSPACE/$(<"$work/checkout")"; }

# Whether a file of the references may be written in the workspace: through no link, into no folder of git's or GitHub's
# in any letters' case, and into no other repository, such as a submodule.
is_ours() { # FILE
  local part rest=${1%/*}/ checkout place
  checkout=$(checkout_folder)
  place=$checkout
  [[ $1 != *[[:cntrl:]]* && $(realpath -m "$checkout/$1") == "$checkout/$1" ]] || return 1
  while [[ -n $rest ]]; do
    part=${rest%%/*} rest=${rest#*/} place+=/$part
    case ${part,,} in .git* | git~*) return 1 ;; esac
    [[ ! -e $place/.git ]] || return 1
    # git's own folders that nobody has read are empty, but its index names them.
    [[ $(git -C "${place%/*}" -c safe.directory='*' ls-files --stage -- ":(literal)$part" 2>/dev/null | head -n 1) != "160000 "*$'\t'"$part" ]] ||
      return 1
  done
}

# The files of a tree's references, MODEL/TASK and an ending each, by their paths in the repository.
references_in() { # TREE FOLDER
  [[ -d $1/$2 && $(realpath "$1/$2") == "$(realpath "$1")/$2" ]] || return 0
  (cd "$1" && find "./$2" -mindepth 2 -maxdepth 2 -type f \
    \( -name '*.toml' -o -name '*.scores.csv' -o -name '*.replies.jsonl.gz' \) -printf '%P\0' | sort -z)
}

# Only files of the folder of references come back, only where they may stand. Replies and anchors that `record` removed
# go here too: they would stand beside scores that are not theirs.
take_references() {
  local folder file checkout count=0
  checkout=$(checkout_folder)
  folder=$(references_folder) || { notice "no reference was copied back: write a folder of the repository as references = \"...\" under [gate] of $ACCGATE_CONFIG"; return 0; }
  while IFS= read -r -d '' file; do
    file=$folder/$file
    case $file in *.replies.jsonl.gz | *.anchor.scores.csv | *.anchor.toml) ;; *) continue ;; esac
    [[ -e $work/recorded/$file ]] || ! is_ours "$file" || rm -f -- "$checkout/$file"
  done < <(references_in "$work/head" "$folder")
  while IFS= read -r -d '' file; do
    file=$folder/$file
    ! cmp -s "$work/recorded/$file" "$work/head/$file" || continue
    is_ours "$file" || { notice "$file is behind a link, or in a folder of git's, GitHub's or another repository, and was not copied back"; continue; }
    mkdir -p "$(dirname "$checkout/$file")"
    cp -- "$work/recorded/$file" "$checkout/$file"
    echo "recorded $file" >&2
    count=$((count + 1))
  done < <(references_in "$work/recorded" "$folder")
  [[ $count -gt 0 ]] || notice "no new reference was copied back from $folder; another folder must stand as references = \"...\" under [gate] of $ACCGATE_CONFIG"
}

listed_options() {
  local list
  confined "$name"
  for list in network env_options limits docker_options image_digest mounts; do $list; done
}

# The options of the container, which has neither token nor right that another has not.
container_options() { # NAME
  name=$1
  take_options listed_options
  options+=("${gpus[@]}" --shm-size "${ACCGATE_SHM_SIZE:-16g}" --env HOME=/home/accgate --env XDG_CACHE_HOME=/cache
    --env HF_HOME=/cache/huggingface --env "GITHUB_SHA=$(<"$work/commit")" --env "ACCGATE_GRACE=$GRACE")
}

stop() {
  cancelled=true
  : >"$work/cancelled" || true
  echo "accgate: stopping the container" >&2
  # GitHub sends SIGINT, SIGTERM after 7.5 seconds, and kills everything after 10. accgate has GRACE of them for what is
  # in flight, then closes the model and writes its partial report; docker kills it 2 seconds before GitHub kills us.
  # A container that only now comes up is met too.
  for _ in 1 2 3 4 5 6; do
    docker stop --time 8 "$name" >/dev/null 2>&1 && return 0 # in a trap, return alone would pass the signal on
    [[ -z $pipe ]] || kill -0 "$pipe" 2>/dev/null || return 0
    sleep 0.5
  done
}

run_container() {
  local resume watch
  resume=$(random)
  pipe=
  code=0
  trap stop INT TERM HUP
  # Until the random word comes again the runner takes no line of the container's for a workflow command.
  echo "::stop-commands::$resume"
  (
    set +e # a full disk stops tee alone, and the code needs no file
    "${LIMITED[@]}" "${limit}m" docker run "${options[@]}" "$ACCGATE_IMAGE" "${command[@]}" </dev/null 2>&1 |
      sed -u "s#$INSIDE/\(head\|workspace\|out\)/##g" | tee "$1" # paths of the repository and of the results
    exit "${PIPESTATUS[0]}"
  ) &
  pipe=$!
  # Nobody else stops the container of a script that was killed, before this runner's next job. A killed process has an
  # entry (Z) until its parent looks.
  (until [[ ! -e /proc/$$ || $(</proc/$$/stat) == *') Z '* ]]; do sleep 0.5; done; exec docker rm --force "$name") >/dev/null 2>&1 {runner}>&- &
  watch=$!
  [[ -z $cancelled ]] || stop
  until wait "$pipe" && code=0 || code=$?; ! kill -0 "$pipe" 2>/dev/null; do :; done
  trap - INT TERM HUP
  kill "$watch" 2>/dev/null || true
  docker rm --force "$name" >/dev/null 2>&1 || true
  name=
  printf '\n::%s::\n' "$resume"
}

# What an exit code says that is none of accgate's.
ended_by() { # CODE
  local why
  case $1 in
    125 | 126 | 127) why=$(unstarted "$(tail -c 2000 "$work/log.txt")") || why="docker could not start it; its words stand above" ;;
    132) why="an instruction that this runner's processor lacks: the image was built for a newer one" ;;
    134) why="the engine aborted; its words stand above" ;;
    135) why="a bus error, as where the shared memory is full: raise shm-size" ;;
    137) why="killed, most likely for memory: raise memory, or lower what the engine's options take" ;;
    139) why="the engine crashed; its words stand above" ;;
    *) why="its words stand above" ;;
  esac
  printf 'the container ended with exit code %s, which is no verdict: %s' "$1" "$why"
}

# Where the answers of a search stay for a further run of the same commit, base, image and inputs: in the cache, which may
# hold links of a model's making.
kept_search() {
  local key
  key=$(printf '%s\0' "$(<"$work/commit")" "${ACCGATE_BASE_SHA:-}" "$ACCGATE_IMAGE" "$ACCGATE_CONFIG" \
    "${ACCGATE_MODELS:-}" "${ACCGATE_TASKS:-}" | sha256sum)
  printf '%s/accgate-blame/%s' "$(realpath "$cache")" "${key:0:32}"
}
keep_search() { # FOLDER
  [[ $(realpath -m "$1") == "$1" ]] || return 0
  rm -rf "$1"
  find "${1%/*}" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} + 2>/dev/null
  case $code in 0 | 124 | 130) ;; *) return 0 ;; esac # another end may come again from what is kept
  [[ ! -d $work/blame/blame || -L $work/blame/blame ]] || { mkdir -p "${1%/*}" && cp -a -- "$work/blame/blame" "$1"; }
}

# The second container, after a regression: which changed setting explains it. What it finds goes into the results; the
# exit code is written already, and stays. It ends by itself once its minutes are over: the host's limit is for one that
# hangs.
blame() {
  local config why file code kept
  config=$(config_path "$ACCGATE_CONFIG")
  rm -rf "$work/blame"
  mkdir "$work/blame"
  searching=true
  kept=$(kept_search)
  [[ ! -d $kept || $(realpath "$kept") != "$kept" ]] || cp -a -- "$kept" "$work/blame/blame"
  limit=$((blame_limit + 1))
  container_options "accgate-blame-$(random)"
  command=(blame "$INSIDE/out" --config "$INSIDE/head/$config" --out "$INSIDE/blame" --workspace "$(models_folder)"
    --samples "$questions" --minutes "$blame_limit" --html)
  if [[ -n ${ACCGATE_BASE_SHA:-} ]]; then command+=(--base "$INSIDE/base/$config"); else command+=(--tree "$INSIDE/head"); fi
  [[ ! -d $work/blame/blame ]] || command+=(--resume)
  run_container "$work/blame.txt"
  keep_search "$kept" || true
  case $code in
    0 | 1 | 2 | 3 | 4) why="the search ended with exit code $code" ;;
    124) why="the search took more than $blame_limit minutes and was stopped" ;;
    *) why="the container of the search ended with exit code $code" ;;
  esac
  tail -c 1000000 "$work/blame.txt" >"$work/out/blame.log"
  for file in cause.json cause.html; do
    [[ -f $work/blame/$file && ! -L $work/blame/$file && $(stat --format %s "$work/blame/$file") -le 1000000 ]] || continue
    cp -- "$work/blame/$file" "$work/out/$file"
  done
  [[ -f $work/out/cause.json ]] || printf '{"failure": "%s; blame.log of the results has its output"}\n' "$why" >"$work/out/cause.json"
  [[ $code -eq 0 ]] || notice "blame found no more: $why"
}

if [[ -e $work/exit-code ]]; then # the trees could not be had
  exit 0
fi
take_shards
cache=$(cache_folder)
limit=$(whole_number timeout-minutes "${ACCGATE_TIMEOUT_MINUTES:-350}" 350)
questions=$(whole_number blame-samples "${ACCGATE_BLAME_SAMPLES:-400}" 400)
blame_limit=$(whole_number blame-minutes "${ACCGATE_BLAME_MINUTES:-30}" 30)
case ${ACCGATE_BLAME:-never} in never | on-failure) ;; *) fail 2 "blame is '$ACCGATE_BLAME'; write on-failure or never" ;; esac
take_options gpus_option
gpus=("${options[@]}")
take_options arguments
command=("${options[@]}")
container_options "accgate-evaluate-$(random)"

run_container "$work/log.txt"
[[ -z $cancelled ]] || code=130
if [[ $code -eq 124 ]]; then
  annotate "the evaluation took more than $limit minutes and was stopped; raise timeout-minutes, or evaluate fewer samples"
  code=3
elif [[ $code -gt 4 && $code -ne 130 ]]; then
  annotate "$(ended_by "$code")"
  code=3
fi
printf '%s' "$code" >"$work/exit-code"
rm -rf "$work/out/cause.json" "$work/out/cause.html" "$work/out/blame.log" # only a search writes these
[[ ${ACCGATE_COMMAND:-run} != record || $code -ne 0 ]] || take_references
[[ $code -ne 130 ]] || leave 130
[[ $code -ne 1 || ${ACCGATE_BLAME:-never} == never || -n ${ACCGATE_SHARD:-} || ${ACCGATE_COMMAND:-run} == record ]] ||
  blame || notice "blame could not be carried out"
[[ -z $cancelled ]] || leave 130
