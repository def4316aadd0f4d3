# shellcheck shell=bash
# What the host scripts of the action share. They need bash, git, docker, coreutils, findutils and tar, nothing else.
set -euo pipefail
shopt -s inherit_errexit # a refusal inside $(...) ends the script

# Where things lie inside the containers.
# shellcheck disable=SC2034 # the scripts that source this use it
readonly INSIDE=/accgate

# Escapes the characters that a workflow command's text may not hold, and breaks what an older runner would look for.
escaped() {
  local text=${1//%/%25}
  text=${text//"##["/"## ["}
  text=${text//$'\r'/%0D}
  printf '%s' "${text//$'\n'/%0A}"
}

# On standard error, which the runner reads as well: functions return values on standard output. All else that goes there,
# such as tar's own message about a file of the head's, holds no command. A signal must not end what writes it.
exec {runner}>&2 2> >(trap '' INT TERM && exec sed -u 's/::/: :/g; s/::/: :/g; s/##\[/## [/g' >&"$runner")
notice() { printf '::notice title=accgate::%s\n' "$(escaped "$1")" >&"$runner"; }
annotate() { printf '::error title=accgate::%s\n' "$(escaped "$1")" >&"$runner"; }

# fail CODE MESSAGE: writes the message as an annotation and, once there is a work folder, for the publishing step.
fail() {
  annotate "$2"
  note_end "$1" "$2"
  leave "$1"
}

# For the publishing step, as far as the disk takes it.
note_end() { # CODE MESSAGE
  [[ -n ${ACCGATE_WORK:-} ]] || return 0
  { printf 'accgate: %s\n' "$2" >>"$ACCGATE_WORK/log.txt" && printf '%s' "$1" >"$ACCGATE_WORK/exit-code"; } 2>/dev/null || true
}

# Whatever else ends a script, such as a full disk, ends it with 3: the code of a command that failed may be 1, which is
# a regression's. An end that is meant has 100 more on its way through subshells.
leave() { exit $(($1 ? 100 + $1 : 0)); }
end() {
  local code=$?
  trap - EXIT
  [[ -z ${name:-} ]] || docker rm --force "$name" >/dev/null 2>&1 || true
  case $code in
    0 | 129 | 130 | 143) ;; # a cancelled job
    10[1-4] | 230) exit $((code - 100)) ;;
    *)
      local why="the script ${0##*/} broke off, because a command ended with code $code: see the lines above"
      ! is_full "${ACCGATE_WORK:-${RUNNER_TEMP:-/tmp}}" || why+=". The runner's disk is full"
      annotate "$why"
      note_end 3 "$why"
      exit 3
      ;;
  esac
}
is_full() { # FOLDER: less than a megabyte is left
  local free
  free=$(df --output=avail -- "$1" 2>/dev/null | tail -n 1) && [[ $free =~ ^\ *[0-9]+$ && $free -lt 1024 ]]
}
trap end EXIT

output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

truth() { # NAME VALUE: true or false
  case ${2,,} in
    true | yes | on | 1) return 0 ;;
    false | no | off | 0 | '') return 1 ;;
    *) fail 2 "$1 is '$2'; write true or false" ;;
  esac
}

# No docker variable of the host's reaches a container; what is mounted is named in full and must exist.
bind() { # SOURCE TARGET [readonly]
  case $1 in *,* | *\"* | *$'\n'*) fail 2 "the path $1 holds a comma, a quote or a line break, which docker's --mount cannot take; move the runner's folder" ;; esac
  printf -- '--mount\ntype=bind,source=%s,target=%s%s\n' "$1" "$2" "${3:+,readonly}"
}

# The labels that say which runner a container belongs to. Another runner on this host differs in one of them.
runner_label() { printf 'org.accgate.runner=%s' "${RUNNER_NAME:-$(uname -n)}"; }
place_label() {
  local place
  place=$(printf '%s\0%s' "${RUNNER_TEMP:-}" "${GITHUB_WORKSPACE:-}" | sha256sum)
  printf 'org.accgate.place=%s' "${place:0:16}"
}

# The options that every container gets: no privileges, the runner's own uid, no log kept by the engine, and a Python
# that takes no module from the working folder.
confined() { # NAME
  local user
  user=$(id -u):$(id -g)
  # In a rootless engine the runner's user is root inside.
  case $(docker info --format '{{.SecurityOptions}}' 2>/dev/null) in *rootless*) user=0:0 ;; esac
  printf '%s\n' --rm --init --name "$1" --label "$(runner_label)" --label "$(place_label)" --user "$user" \
    --cap-drop ALL --security-opt no-new-privileges --log-driver none \
    --env USER=accgate --env LOGNAME=accgate --env PYTHONSAFEPATH=1
}

# Why docker could start no container, where its words are those of a known cause.
unstarted() { # WORDS
  case $1 in
    *'exec format error'* | *'no matching manifest'* | *'no image found in '*' for architecture'*)
      printf '%s' "the image $ACCGATE_IMAGE is for another processor than this runner's ($(uname -m)); name one that is built for it" ;;
    *'"/bin/sh": stat '* | *'exec /bin/sh: no such file'* | *"/bin/sh"*'not found in '*PATH*)
      printf '%s' "the image $ACCGATE_IMAGE has no /bin/sh; build yours FROM one of accgate's (docs/action.md, image)" ;;
    *'could not select device driver'* | *'unresolvable CDI devices'* | *'unknown or invalid runtime name: nvidia'*)
      printf '%s' "docker cannot give GPUs to containers; install NVIDIA's Container Toolkit (docs/action.md, Docker with NVIDIA GPUs)" ;;
    *'o space left on device'*) printf '%s' "the runner's disk is full; make room, such as by docker system prune" ;;
    *) return 1 ;;
  esac
}

# Containers work in an empty folder: a dataset's or a metric's name would else mean a folder of a tree.
in_empty_folder() {
  bind "$ACCGATE_WORK/empty" "$INSIDE/empty" readonly
  printf '%s\n' --workdir "$INSIDE/empty"
}

# LIMITED DURATION COMMAND...: exit code 124 where it takes longer. docker passes signals on to the container.
readonly LIMITED=(timeout --kill-after=20s)

# Runs accgate publish in a container with `options`, and sets `code` to what it ended with. A signal is passed on.
publishing() { # ARGUMENT...
  local process
  "${LIMITED[@]}" 30m docker run "${options[@]}" "$ACCGATE_IMAGE" publish "$@" </dev/null &
  process=$!
  trap 'kill -TERM "$process" 2>/dev/null || true' INT TERM HUP
  until wait "$process" && code=0 || code=$?; ! kill -0 "$process" 2>/dev/null; do :; done
  trap - INT TERM HUP
}
is_own() { [[ $1 -le 4 || $1 -eq 129 || $1 -eq 130 || $1 -eq 143 ]]; } # CODE: accgate's, or a signal's that was passed on
end_published() {
  is_own "$code" || fail 3 "the container that publishes ended with exit code $code: see the lines above"
  case $code in 129 | 143) exit "$code" ;; *) leave "$code" ;; esac
}

# Sets `options` to the lines that commands print. A refusal of theirs ends the script, which it would not inside < <(...);
# and no file is needed, as a here-string may need one.
take_options() { # COMMAND...
  local listed
  listed=$("$@")
  # shellcheck disable=SC2034
  mapfile -t options < <(printf '%s' "$listed" | sed '/^$/d')
}

random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# The config's path in the repository, as git writes it: what is written starts from the workspace, in which the checkout
# may have a folder of its own (prepare.sh notes which).
config_path() {
  local path=${1#./} checkout=
  case /$path/ in
    // | //* | */../* | */./* | *$'\n'*) fail 2 "config is '$1'; write a path inside the repository, such as accuracy.toml" ;;
  esac
  [[ ! -e ${ACCGATE_WORK:-}/checkout ]] || checkout=$(<"$ACCGATE_WORK/checkout")
  printf '%s' "${path#"$checkout"}"
}

one_line() { tr '\n' ' ' <<<"$1" | sed 's/ *$//'; }

# Proxies, and the certificates of authorities, as in accgate/inputs/network.py. A proxy's password is a secret, which the
# evaluating container gets where `env` names the variable.
network() { # [with-passwords]
  local variable bundle=${REQUESTS_CA_BUNDLE:-${CURL_CA_BUNDLE:-${SSL_CERT_FILE:-}}}
  for variable in HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy; do
    [[ -z ${!variable:-} || (${!variable} == *@* && -z ${1:-}) ]] || printf '%s\n' --env "$variable"
  done
  [[ -f $bundle ]] || return 0
  bind "$bundle" "$INSIDE/ca.pem" readonly
  printf '%s\n' --env "REQUESTS_CA_BUNDLE=$INSIDE/ca.pem" --env "SSL_CERT_FILE=$INSIDE/ca.pem"
}

# The containers with the token get no GPU and no model, and can write only to the named folders.
with_token() { # NAME
  confined "$1"
  in_empty_folder
  # The image of vLLM asks for every GPU; void keeps them out where the engine's default runtime is NVIDIA's.
  printf '%s\n' --network host --read-only --tmpfs /tmp --memory 8g --pids-limit 1024 --env HOME=/tmp --env NVIDIA_VISIBLE_DEVICES=void \
    --env ACCGATE_TOKEN
  local variable
  for variable in GITHUB_ACTIONS GITHUB_API_URL GITHUB_SERVER_URL GITHUB_REPOSITORY GITHUB_EVENT_NAME \
    GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_HEAD_REF GITHUB_BASE_REF GITHUB_RUN_ID GITHUB_RUN_ATTEMPT; do
    [[ -z ${!variable:-} ]] || printf '%s\n' --env "$variable"
  done
  network with-passwords
  [[ ! -f ${GITHUB_EVENT_PATH:-} ]] || {
    bind "$GITHUB_EVENT_PATH" "$INSIDE/event.json" readonly
    printf '%s\n' --env "GITHUB_EVENT_PATH=$INSIDE/event.json"
  }
  bind "$ACCGATE_WORK/publish" "$INSIDE/publish"
  for variable in GITHUB_OUTPUT GITHUB_STEP_SUMMARY; do
    [[ -f ${!variable:-} ]] || continue
    bind "${!variable}" "$INSIDE/$variable"
    printf '%s\n' --env "$variable=$INSIDE/$variable"
  done
}
