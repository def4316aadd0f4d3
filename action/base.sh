# shellcheck shell=bash disable=SC2154 # prepare.sh sets work and token
# Which commit's rules decide on a pull request: the one that its merge was made with, where that can be shown.
#
# The base that an event names can be older than the first parent of the merge that is checked out. What the base branch
# got in between would then look as if the pull request changed it.

# fetch_with_token GIT_DIR ARGUMENT...: git fetch with the token in the environment of this command, as actions/checkout
# sends it: a header, not a URL or file, and for the server alone.
fetch_with_token() {
  local -x GIT_DIR=$1 GIT_CONFIG_COUNT=0
  if [[ -n $token ]]; then
    GIT_CONFIG_COUNT=1
    local -x GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraheader"
    local -x GIT_CONFIG_VALUE_0
    GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$token" | base64 | tr -d '\n')"
  fi
  plain_git fetch --quiet --no-tags "${@:2}"
}

# The first parent of the merge of head and base that is checked out, where it is newer than the event's base. Right
# after a pull request was given another base, GitHub can still hand out the merge with the one before: so the parent
# must have been a tip of the base branch, and no ancestor of the event's base.
merged_base() { # HEAD
  local parents branch=refs/heads/base
  [[ -n ${ACCGATE_BASE_REF:-} && -n ${ACCGATE_HEAD_SHA:-} && $1 == "${GITHUB_SHA:-}" ]] || return 1
  mapfile -t parents < <(bare_git cat-file commit "$1" | sed -n '/^$/q; s/^parent //p')
  [[ ${#parents[@]} -eq 2 && ${parents[1]} == "$ACCGATE_HEAD_SHA" ]] || return 1
  [[ ${parents[0]} != "$ACCGATE_BASE_SHA" ]] || return 1
  new_repository "$work/line" "$1" || return 1
  # Commits alone, without their trees; an older base than this is rare, and then the event's own decides.
  # From the server, which the workspace cannot redirect.
  fetch_with_token "$work/line" --filter=tree:0 --depth=500 -- "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" \
    "+refs/heads/$ACCGATE_BASE_REF:$branch" || return 1
  GIT_DIR=$work/line plain_git rev-list --first-parent "$branch" | grep -x -- "${parents[0]}" >/dev/null || return 1
  ! GIT_DIR=$work/line plain_git merge-base --is-ancestor "${parents[0]}" "$ACCGATE_BASE_SHA" || return 1
  printf '%s' "${parents[0]}"
}

choose_base() { # HEAD
  local newer
  newer=$(merged_base "$1" 2>/dev/null) || newer=
  rm -rf "$work/line"
  [[ -n $newer ]] || return 0
  notice "the event's base ${ACCGATE_BASE_SHA:0:12} is older than the one merged with, whose rules decide: ${newer:0:12}"
  ACCGATE_BASE_SHA=$newer
}
