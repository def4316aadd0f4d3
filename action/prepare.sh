#!/usr/bin/env bash
# Host step 1: checks the machine, sweeps what cancelled jobs left, and lays out head and base without credentials.
#
# Reads: ACCGATE_IMAGE, ACCGATE_BASE_SHA, ACCGATE_BASE_REF, ACCGATE_HEAD_SHA, ACCGATE_CONFIG, ACCGATE_COMMAND,
# ACCGATE_STANDING, ACCGATE_TOKEN (for the fetch of the base, alone); of report/action.yml also ACCGATE_RESULTS and ACCGATE_UNTRUSTED.
# Writes the output `standing` where nothing is to be evaluated, and `work`, a folder with head/, base/, out/, home/, cache/, publish/, empty/; where the trees cannot be had,
# also exit-code and log.txt, which the publishing step reports.
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
  for tool in docker git tar find sha256sum od realpath; do
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
  echo "::group::docker pull $ACCGATE_IMAGE"
  docker pull "$ACCGATE_IMAGE" ||
    fail 3 "the image $ACCGATE_IMAGE is not on this runner and cannot be pulled; check its name, the network and docker login"
  echo "::endgroup::"
}

# A file of this machine must be readable, and a new one writable as this user, inside a container.
probe_mounts() {
  local secret seen mounts
  mkdir "$work/probe"
  secret=$(random)
  printf '%s' "$secret" >"$work/probe/host"
  mapfile -t mounts < <(bind "$work/probe" $INSIDE/probe)
  mapfile -t options < <(confined "accgate-probe-$(random)")
  # shellcheck disable=SC2016 # the container's shell expands it
  seen=$(docker run "${options[@]}" --network none "${mounts[@]}" --entrypoint /bin/sh "$ACCGATE_IMAGE" \
    -c 'cat "$0/host" && : >"$0/container"' $INSIDE/probe 2>"$work/probe.err") || true
  if [[ $seen != "$secret" || ! -e $work/probe/container ]]; then
    fail 3 "files of this runner do not reach its containers (bind mounts come out empty or read-only), as happens where the runner itself is a container or a pod. Use the job container: route of docs/action.md (Kubernetes runners). docker said: $(tail -c 500 "$work/probe.err")"
  fi
}

# The tree as it is, without .git at any depth and without files of logins. tar keeps links and follows none.
copy_head() {
  [[ -n ${GITHUB_WORKSPACE:-} && -n $(ls -A "$GITHUB_WORKSPACE" 2>/dev/null) ]] ||
    unable "the workspace is empty; run actions/checkout before accgate"
  tar -C "$GITHUB_WORKSPACE" --exclude=.git --exclude=.git-credentials --exclude=.netrc --exclude=_netrc \
    --warning=no-file-ignored -cf - . | tar -C "$work/head" --no-same-owner -xf - ||
    unable "the workspace cannot be copied; is the runner's disk full?"
}

# git without hooks, and with no configuration of the repository's or the head's making.
plain_git() {
  GIT_NO_REPLACE_OBJECTS=1 GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0 git -c core.hooksPath=/dev/null -c core.fsmonitor=false \
    -c core.autocrlf=false -c safe.directory='*' "$@"
}

# The same without this machine's configuration either: its filters and attributes are no part of the base. Objects of
# Git LFS stay pointers; to fetch them would take a token and a server of their own.
bare_git() {
  GIT_DIR=$work/git GIT_CONFIG_GLOBAL=$work/git/accgate GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
    plain_git -c core.attributesFile=/dev/null "$@"
}

# Through an index and an empty work tree of its own: `git archive` would leave out what export-ignore names, and the
# attributes that count are the base's, not those that the pull request's work tree has.
export_base() {
  rm -rf "$work/base" "$work/none" "$work/index"
  mkdir "$work/base" "$work/none"
  local -x GIT_WORK_TREE=$work/none GIT_INDEX_FILE=$work/index
  bare_git read-tree "$ACCGATE_BASE_SHA" && (cd "$work/none" && bare_git checkout-index --all --force --prefix="$work/base/")
}

# Into a repository of our own: its configuration, attributes and filters are ours, and the user's clone stays as it is
# (--depth=1 would make a full one shallow). Where the commit comes from does not matter: git names what it receives by
# its digest, so that not even a clone with changed objects can give another tree.
fetch_base() {
  bare_git init --quiet --bare --template= "$work/git"
  printf '[safe]\n\tdirectory = *\n' >"$work/git/accgate" # the other end reads no -c
  local own
  own=$(plain_git -C "$GITHUB_WORKSPACE" rev-parse --absolute-git-dir 2>/dev/null || true)
  # Only where the workspace is the repository's root: further up there may be a repository of somebody else's.
  if [[ -n $own && -e $GITHUB_WORKSPACE/.git ]] &&
    bare_git fetch --quiet --no-tags --depth=1 -- "file://$own" "$ACCGATE_BASE_SHA"; then return; fi
  local url server=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY origin
  origin=$(plain_git -C "$GITHUB_WORKSPACE" remote get-url origin 2>/dev/null || true)
  for url in "${origin:-$server}" "$server"; do
    fetch_with_token "$work/git" --depth=1 -- "$url" "$ACCGATE_BASE_SHA" && return
  done
  return 1
}

lay_base() {
  case ${GITHUB_EVENT_NAME:-} in
    pull_request | pull_request_review) [[ -n ${ACCGATE_BASE_SHA:-} ]] || unable "the event names no base commit" ;;
    *) [[ -n ${ACCGATE_BASE_SHA:-} ]] || return 0 ;;
  esac
  [[ $ACCGATE_BASE_SHA =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]] || unable "the base commit is '$ACCGATE_BASE_SHA', which is not a SHA"
  choose_base
  if fetch_base >"$work/git.err" 2>&1 && export_base >>"$work/git.err" 2>&1; then return; fi
  unable "the base commit $ACCGATE_BASE_SHA, whose rules decide on this pull request, cannot be fetched: $(tail -n 3 "$work/git.err" | tr '\n' ' '). Give the job the permission contents: read, or check out with fetch-depth: 0"
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
  printf 'accgate: %s\n' "$1" >"$work/log.txt"
  printf '%s' 3 >"$work/exit-code"
  rm -rf "$work/base" # an empty one would look like a base without rules
  finish
  exit 0
}

finish() { rm -rf "$work/probe" "$work/probe.err" "$work/none" "$work/index" "$work/git" "$work/git.err"; }

refuse_event
config_path "$ACCGATE_CONFIG" >/dev/null
case ${ACCGATE_COMMAND:-run} in run | record | merge) ;; *) fail 2 "command is '$ACCGATE_COMMAND'; write run, record or merge" ;; esac
check_tools
sweep
have_image
umask 022
work=$(mktemp -d "${RUNNER_TEMP:-/tmp}/accgate-XXXXXXXX")
mkdir "$work/empty" "$work/head" "$work/base" "$work/out" "$work/home" "$work/cache" "$work/publish"
output work "$work"
output results "$work/out"
if [[ ${ACCGATE_COMMAND:-run} != record ]] && truth standing "${ACCGATE_STANDING:-}"; then
  output standing true
  exit 0
fi
probe_mounts
if [[ -n ${ACCGATE_RESULTS:-} ]]; then take_results; fi
if ! truth untrusted "${ACCGATE_UNTRUSTED:-}"; then
  copy_head
  lay_base
  [[ ! -d $work/base ]] || without_links_out "$work/base" # or a link would make a rule of a file of the head
fi
finish
