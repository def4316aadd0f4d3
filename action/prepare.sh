#!/usr/bin/env bash
# Host step 1: checks the machine, sweeps what cancelled jobs left, and lays out head and base without credentials.
#
# Reads: ACCGATE_IMAGE, ACCGATE_BASE_SHA, ACCGATE_BASE_REF, ACCGATE_HEAD_SHA, ACCGATE_CONFIG, ACCGATE_COMMAND,
# ACCGATE_STANDING, ACCGATE_TOKEN (to fetch the commits, alone); of report/action.yml also ACCGATE_RESULTS and
# ACCGATE_UNTRUSTED.
# Writes the output `standing` where nothing is to be evaluated, and `work`, a folder with head/ and base/ (the files of
# two commits, from which rules are read), workspace/ (what the job has there, for models), commit (the head's), checkout
# (its folder in the workspace), out/, home/, cache/, publish/, empty/; where the trees cannot be had, also exit-code and
# log.txt, which the publishing step reports.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$(dirname "${BASH_SOURCE[0]}")/base.sh"
token=${ACCGATE_TOKEN:-}
unset ACCGATE_TOKEN

# A refusal that people see without opening the log.
refuse() {
  [[ -z ${GITHUB_STEP_SUMMARY:-} ]] || printf '## Refused: nothing was evaluated\n\n%s.\n' "$1" >>"$GITHUB_STEP_SUMMARY"
  output verdict error
  output passed false
  fail 2 "$1"
}

refuse_event() {
  [[ ${GITHUB_EVENT_NAME:-} != pull_request_target ]] ||
    refuse "pull_request_target runs a fork's code with this repository's token and secrets; use on: pull_request, and for forks the split workflow of docs/action.md"
}

check_tools() {
  local tool
  for tool in docker git tar find xargs sed grep sha256sum od realpath timeout; do
    command -v "$tool" >/dev/null || fail 3 "this runner has no $tool; the action needs bash, git, docker, coreutils, findutils and tar"
  done
  local reply
  reply=$(docker version --format '{{.Server.Version}}' 2>&1) ||
    fail 3 "docker does not answer on this runner: $reply. Is the engine running, and may $(id -un) use it? Where the runner is a pod, use the job container: route of docs/action.md"
}

# Containers of cancelled jobs of this very runner. A runner has one job at a time, so what still runs is stale.
sweep() {
  local stale
  stale=$(docker ps --all --quiet --filter "label=$(runner_label)" --filter "label=$(place_label)")
  [[ -z $stale ]] || {
    notice "removing $(wc -l <<<"$stale") container(s) that a cancelled job left on this runner"
    xargs docker rm --force >/dev/null <<<"$stale"
  }
}

have_image() {
  docker image inspect "$ACCGATE_IMAGE" >/dev/null 2>&1 && return
  local shown words
  echo "::group::docker pull $ACCGATE_IMAGE"
  exec {shown}>&1
  words=$(docker pull "$ACCGATE_IMAGE" 2>&1 >&"$shown") || fail 3 "$(unstarted "$words" ||
    printf '%s' "the image $ACCGATE_IMAGE is not on this runner and cannot be pulled; check its name, the network and docker login. docker said: $words")"
  echo "::endgroup::"
}

# Why a container does not get this runner's files.
unreachable() { # WORDS
  local engine
  ! unstarted "$1" || return 0
  engine=$(docker version 2>&1; docker info --format '{{.SecurityOptions}}' 2>&1; getenforce 2>&1) || true
  case $1/${engine,,} in
    *[Pp]'ermission denied'*/*podman*)
      printf '%s' "podman stands in for docker here, and its rootless containers map the runner's user to another one; install Docker, rootless if you like" ;;
    *[Pp]'ermission denied'*/*name=userns*)
      printf '%s' "docker maps the users of containers to others (userns-remap in /etc/docker/daemon.json), who may not read the runner's files; take the line out, or run Docker rootless" ;;
    *[Pp]'ermission denied'*/*name=selinux* | *[Pp]'ermission denied'*/*enforcing*)
      printf '%s' "SELinux keeps containers from the runner's files; label its folders: chcon -Rt container_file_t ${RUNNER_TEMP:-/tmp} ${GITHUB_WORKSPACE:-}" ;;
    *) printf '%s' "files of this runner do not reach its containers (bind mounts come out empty or read-only), as happens where the runner itself is a container or a pod. Use the job container: route of docs/action.md (Kubernetes runners)" ;;
  esac
}

# A file of this machine must be readable, and a new one writable as this user, inside a container.
probe_options() {
  confined "accgate-probe-$(random)"
  bind "$work/probe" "$INSIDE/probe"
}
probe_mounts() {
  local secret seen words
  mkdir "$work/probe"
  secret=$(random)
  printf '%s' "$secret" >"$work/probe/host"
  take_options probe_options
  # shellcheck disable=SC2016 # the container's shell expands it
  seen=$(docker run "${options[@]}" --network none --entrypoint /bin/sh "$ACCGATE_IMAGE" \
    -c 'cat "$0/host" && : >"$0/container"' $INSIDE/probe 2>"$work/probe.err") || true
  if [[ $seen != "$secret" || ! -e $work/probe/container ]]; then
    words=$(tail -c 500 "$work/probe.err")
    fail 3 "$(unreachable "$words"). docker said: $words"
  fi
}

# What models may use: the workspace as it is, without .git at any depth and without files of logins. tar keeps links and
# follows none; the copy's owner may remove all of it.
copy_workspace() {
  [[ -n ${GITHUB_WORKSPACE:-} && -n $(ls -A "$GITHUB_WORKSPACE" 2>/dev/null) ]] ||
    unable "the workspace is empty; run actions/checkout before accgate"
  local words ends
  words=$(
    exec 2>&1 # into memory, since a full disk takes no file
    set +e
    LC_ALL=C tar -C "$GITHUB_WORKSPACE" --exclude=.git --exclude=.git-credentials --exclude=.netrc --exclude=_netrc \
      --sparse --mode=u+rwX --warning=no-file-ignored -cf - . | LC_ALL=C tar -C "$work/workspace" --no-same-owner -xf -
    printf '\n%s' "${PIPESTATUS[*]}"
  )
  ends=${words##*$'\n'}
  words=$(printf '%s' "${words%$'\n'*}" | grep -v 'due to previous errors\|failure status' | sed 's/^tar: \(\.\/\)*//' | head -n 3 | tr '\n' ';') || true
  case $ends/$words in
    '0 0'/*) ;;
    # A server's log, for instance: what a job still writes or removes is copied as it is at that moment.
    '1 0'/*) notice "files of the workspace changed while they were copied, and models get them as they were: $words" ;;
    *'o space left'* | *'uota exceeded'*) unable "the workspace cannot be copied, because the runner's disk is full: $words" ;;
    *[Pp]'ermission denied'*) unable "the workspace holds files that $(id -un) may not read, such as those of a container that ran as root: $words give them to that user or remove them before accgate's step" ;;
    *) unable "the workspace cannot be copied: $words" ;;
  esac
}

# The folder of the checkout that holds the config, by its path in the workspace: empty, or with a slash at the end. Of
# two, one within the other, nobody could tell which of them the config's path is of, and so whether the base has it.
find_checkout() {
  local rest=${ACCGATE_CONFIG#./} folder='' all=()
  while :; do
    [[ ! -e $GITHUB_WORKSPACE/$folder.git ]] || all+=("$folder")
    [[ $rest == */* ]] || break
    folder+=${rest%%/*}/ rest=${rest#*/}
  done
  case ${#all[@]} in
    0) unable "no checkout of a repository holds $ACCGATE_CONFIG; run actions/checkout before accgate, and write config with its path: in front" ;;
    1) checkout=${all[0]} ;;
    *) unable "$ACCGATE_CONFIG lies in ${#all[@]} checkouts or submodules, one within the other (./${all[0]} and ./${all[1]}); check out each into a folder of its own" ;;
  esac
}

# git without hooks, and with no configuration of the repository's or the head's making.
plain_git() {
  GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 git -c core.hooksPath=/dev/null -c core.fsmonitor=false \
    -c core.autocrlf=false -c safe.directory='*' "$@"
}

# An empty repository for a commit's kind of SHA; older versions of git know SHA-1 alone, and have no option for it.
new_repository() { # FOLDER SHA [OPTION...]
  [[ ${#2} -ne 64 ]] || set -- "$@" --object-format=sha256
  plain_git init --quiet --bare "${@:3}" "$1"
}

# The same without this machine's configuration either: its filters and attributes are no part of a commit. Objects of
# Git LFS stay pointers; to fetch them would take a token and a server of their own.
bare_git() {
  GIT_DIR=$work/git GIT_CONFIG_GLOBAL=$work/git/accgate GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
    plain_git -c core.attributesFile=/dev/null "$@"
}

# Through an index and an empty work tree of its own: `git archive` would leave out what export-ignore names, and the
# attributes that count are the commit's, not those of the workspace.
export_commit() { # head|base SHA
  rm -rf "${work:?}/$1" "$work/none" "$work/index"
  mkdir "$work/$1" "$work/none"
  local -x GIT_WORK_TREE=$work/none GIT_INDEX_FILE=$work/index
  bare_git read-tree "$2" && (cd "$work/none" && bare_git checkout-index --all --force --prefix="$work/$1/")
}

# Into a repository of our own: its configuration, attributes and filters are ours, and the user's clone stays as it is
# (--depth=1 would make a full one shallow). Where the commit comes from does not matter: git names what it receives by
# its digest, so that not even a clone with changed objects can give another tree.
fetch_commit() { # SHA
  local own url server=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY origin
  own=$(workspace_git rev-parse --absolute-git-dir 2>/dev/null || true)
  [[ -z $own ]] || ! bare_git fetch --quiet --no-tags --depth=1 -- "file://$own" "$1" || return 0
  origin=$(workspace_git remote get-url origin 2>/dev/null || true)
  for url in "${origin:-$server}" "$server"; do
    fetch_with_token "$work/git" --depth=1 -- "$url" "$1" && return
  done
  return 1
}

workspace_git() { GIT_DIR=$GITHUB_WORKSPACE/$checkout.git plain_git "$@"; }

check_sha() { # head|base SHA
  [[ $2 =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]] || unable "the $1 commit is '$2', which is not a SHA"
}

lay_commit() { # head|base SHA
  local words last
  if words=$(fetch_commit "$2" 2>&1 && export_commit "$1" "$2" 2>&1); then
    turn_links_out "$1" "$2"
    return
  fi
  last=$(printf '%s' "$words" | tail -n 3 | tr '\n' ' ')
  case $words in
    *'o space left'* | *'uota exceeded'* | *'unable to write'*) unable "the $1 commit $2 cannot be laid out, because the runner's disk is full: $last" ;;
    *) unable "the $1 commit $2, whose rules count, cannot be fetched whole: $last. Give the job the permission contents: read, or check out with fetch-depth: 0" ;;
  esac
}

# A link that leads out of its commit stays a link out of it, to where nothing is: a rule behind it is refused, and the
# container that has the token is led to no file of its own, such as /proc/self/environ.
turn_links_out() { # head|base SHA
  local folder link links=()
  folder=$(realpath "$work/$1")
  while IFS= read -r -d '' link; do
    case $(realpath -m -- "$link" 2>/dev/null)/ in "$folder"/*) continue ;; esac
    ln -sfn -- "$(realpath -ms --relative-to="${link%/*}" "$folder/../outside-of-the-repository")" "$link"
    links+=("${link#"$folder"/}")
  done < <(find "$folder" -type l -print0)
  [[ ${#links[@]} -eq 0 ]] ||
    notice "${#links[@]} link(s) of the $1 commit ${2:0:12} lead out of it, the first is ${links[0]}; a rule behind one is refused: put a plain file there"
}

# The commit that the head's rules are of. Of a pull request and of a merge queue it is one of the event's own, whatever
# the job has committed or checked out since: its head, where just that is checked out, or else the merge.
head_commit() {
  local own
  own=$(workspace_git rev-parse --verify --quiet HEAD 2>/dev/null || true)
  if [[ -n ${ACCGATE_HEAD_SHA:-} && $own != "$ACCGATE_HEAD_SHA" || ${GITHUB_EVENT_NAME:-} == merge_group ]]; then own=; fi
  printf '%s' "${own:-${GITHUB_SHA:-}}"
}

lay_trees() {
  local head config shorter
  head=$(head_commit)
  check_sha head "$head"
  new_repository "$work/git" "$head" --template=
  printf '[safe]\n\tdirectory = *\n' >"$work/git/accgate" # the other end reads no -c
  lay_commit head "$head"
  printf '%s' "$head" >"$work/commit"
  printf '%s' "$checkout" >"$work/checkout"
  config=${ACCGATE_CONFIG#./}
  config=${config#"$checkout"}
  [[ -e $work/head/$config || -L $work/head/$config ]] ||
    annotate "the commit ${head:0:12} has no $config; rules are read from commits alone: commit the file, or correct config"
  lay_base "$head"
  # Were the checkout elsewhere, the file would have another path in the commits, and the base's own would not be seen.
  shorter=${ACCGATE_CONFIG#./}
  while [[ $shorter != "$config" ]]; do
    [[ ! -e $work/base/$shorter && ! -L $work/base/$shorter ]] ||
      unable "the base commit has the file $shorter too, so it is not clear which one config ($ACCGATE_CONFIG) means; check out into another folder"
    shorter=${shorter#*/}
  done
}

lay_base() { # HEAD
  case ${GITHUB_EVENT_NAME:-} in
    pull_request | pull_request_review) [[ -n ${ACCGATE_BASE_SHA:-} ]] || unable "the event names no base commit" ;;
    *) [[ -n ${ACCGATE_BASE_SHA:-} ]] || return 0 ;;
  esac
  check_sha base "$ACCGATE_BASE_SHA"
  choose_base "$1"
  lay_commit base "$ACCGATE_BASE_SHA"
}

# For report/action.yml: the results of another job. Of a fork's artifact only a small result is taken.
take_results() {
  local folder=${ACCGATE_RESULTS:-} file
  [[ -d $folder ]] || unable "results is '$folder', which is not a folder; download the evaluating job's artifact into it first"
  if truth untrusted "${ACCGATE_UNTRUSTED:-}"; then
    for file in accgate.json accgate.exit-code; do
      [[ -f $folder/$file && ! -L $folder/$file ]] || unable "the artifact holds no $file; was it uploaded from the output results?"
      [[ $(stat --format %s "$folder/$file") -le 10000000 ]] || unable "$file in the artifact has more than 10 MB, which is too much for a result"
      cp -- "$folder/$file" "$work/out/$file"
    done
  else
    tar -C "$folder" -cf - . | tar -C "$work/out" --no-same-owner -xf -
    [[ ! -f $work/out/accgate.log || -L $work/out/accgate.log ]] || cp -- "$work/out/accgate.log" "$work/log.txt"
  fi
  head -c 3 "$work/out/accgate.exit-code" >"$work/exit-code" 2>/dev/null ||
    unable "the artifact holds no accgate.exit-code; upload the whole folder that the output results names"
}

# A fault that the publishing step reports with exit code 3.
unable() {
  annotate "$1"
  rm -rf "$work/base" "$work/workspace" # an empty base would look like one without rules; and a full disk has room again
  finish
  printf 'accgate: %s\n' "$1" >"$work/log.txt"
  printf '%s' 3 >"$work/exit-code"
  exit 0
}

finish() { rm -rf "$work/probe" "$work/probe.err" "$work/none" "$work/index" "$work/git"; }

refuse_event
config_path "$ACCGATE_CONFIG" >/dev/null
case ${ACCGATE_COMMAND:-run} in run | record | merge) ;; *) fail 2 "command is '$ACCGATE_COMMAND'; write run, record or merge" ;; esac
check_tools
sweep
have_image
umask 022
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/accgate-XXXXXXXX") ||
  fail 3 "$(id -un) can make no folder in ${RUNNER_TEMP:-/tmp} (RUNNER_TEMP): the line above says why; the runner's user must own it"
mkdir "$work/empty" "$work/head" "$work/base" "$work/workspace" "$work/out" "$work/home" "$work/cache" "$work/publish"
if [[ ${ACCGATE_COMMAND:-run} != record ]] && truth standing "${ACCGATE_STANDING:-}"; then
  output work "$work"
  output results "$work/out"
  output standing true
  exit 0
fi
probe_mounts
output work "$work"
output results "$work/out"
if [[ -n ${ACCGATE_RESULTS:-} ]]; then take_results; fi
if ! truth untrusted "${ACCGATE_UNTRUSTED:-}"; then
  copy_workspace
  find_checkout
  lay_trees
fi
finish
