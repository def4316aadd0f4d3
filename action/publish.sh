#!/usr/bin/env bash
# Host step 4: the container with the token, and without GPU or model. Its exit code is the action's.
#
# Reads: ACCGATE_WORK, ACCGATE_IMAGE, ACCGATE_TOKEN and the inputs as ACCGATE_*. Writes the action's outputs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work=$ACCGATE_WORK

# The outcome of `record`, a shard and `publish: false`, which need no publishing container. No guard has run, so nothing
# passed.
plain_outcome() {
  output passed false
  # The job that publishes a verdict decides on it; an evaluation that could not finish fails here too.
  [[ ${ACCGATE_COMMAND:-run} == record ]] || case $code in 1 | 4) exit 0 ;; esac
  leave "$code"
}

# shellcheck disable=SC2329 # take_options calls it
publishing_options() {
  with_token "accgate-publish-$(random)"
  bind "$work/head" "$INSIDE/head" readonly
  [[ ! -d $work/base ]] || bind "$work/base" "$INSIDE/base" readonly
  bind "$results" "$INSIDE/out" readonly
  bind "$work/log.txt" "$INSIDE/log.txt" readonly
}

# What the results get beside what the container wrote.
note_results() {
  [[ -e $work/log.txt ]] || : >"$work/log.txt" || return
  rm -rf "$work/out/accgate.exit-code" "$work/out/accgate.log"
  printf '%s' "$code" >"$work/out/accgate.exit-code" && tail -c 1000000 "$work/log.txt" >"$work/out/accgate.log"
}

# Nothing was evaluated: the check that stands on the commit decides.
repeat() {
  if [[ -n ${ACCGATE_SHARD:-} ]] || ! truth publish "${ACCGATE_PUBLISH:-true}"; then
    output passed false
    exit 0
  fi
  local config
  config=$(config_path "$ACCGATE_CONFIG")
  take_options with_token "accgate-publish-$(random)"
  publishing --standing --config "$config" \
    --check-name "$ACCGATE_CHECK_NAME" --fail-on "$ACCGATE_FAIL_ON" "--required-branches=$(one_line "${ACCGATE_REQUIRED_BRANCHES:-}")"
  end_published
}

! truth standing "${ACCGATE_STANDING:-}" || repeat
docker ps --all --quiet --filter "label=$(runner_label)" --filter "label=$(place_label)" | xargs --no-run-if-empty docker rm --force >/dev/null ||
  notice "the containers of this job cannot be removed"
code=$(cat "$work/exit-code" 2>/dev/null || echo 3)
[[ $code =~ ^[0-4]$ || $code -eq 130 ]] || code=3 # an empty file is one that a full disk did not take
[[ ! -e $work/cancelled ]] || code=130
# The container that wrote out/ has ended. Only plain files and folders are kept, all of them readable.
if ! { chmod -R u+rwX "$work/out" && find "$work/out" ! -type f ! -type d -delete; }; then
  annotate "the results hold files that $(id -un) may not change, as where docker-options set another user; nothing of them is read"
  mv "$work/out" "$work/out-of-another"
  mkdir "$work/out"
  code=3
fi
# On a full disk what only the evaluation needed makes room for what is published.
note_results 2>/dev/null || { chmod -R u+rwX "$work"/{cache,home} 2>/dev/null || true; rm -rf "${work:?}"/{workspace,cache,home,shards} && note_results; } ||
  notice "the runner's disk is full: the results lack exit code or log"
if [[ ${ACCGATE_COMMAND:-run} == record || -n ${ACCGATE_SHARD:-} ]] || ! truth publish "${ACCGATE_PUBLISH:-true}"; then
  plain_outcome
fi
config=$(config_path "$ACCGATE_CONFIG")
results=$work/out
arguments=("$INSIDE/out/accgate.json" --exit-code "$code" --log "$INSIDE/log.txt" --state "$INSIDE/publish/state.json"
  --config "$config" --head "$INSIDE/head" --comment "$ACCGATE_COMMENT" --check-name "$ACCGATE_CHECK_NAME"
  --fail-on "$ACCGATE_FAIL_ON")
[[ -z ${ACCGATE_BASE_SHA:-} ]] || arguments+=(--base "$INSIDE/base")
arguments+=("--models=$(one_line "${ACCGATE_MODELS:-}")" "--tasks=$(one_line "${ACCGATE_TASKS:-}")"
  "--required-branches=$(one_line "${ACCGATE_REQUIRED_BRANCHES:-}")"
  "--picture-branch=$(one_line "${ACCGATE_PICTURE_BRANCH:-}")")
[[ ! -e $work/cancelled ]] || arguments+=(--cancelled)
! truth untrusted "${ACCGATE_UNTRUSTED:-false}" || arguments+=(--untrusted)
take_options publishing_options
publishing "${arguments[@]}"
if ! is_own "$code"; then # killed for memory, for instance: nothing but the failure is left to publish
  annotate "the container that publishes ended with exit code $code: see the lines above. The check is closed without the results"
  results=$work/empty
  take_options publishing_options
  publishing "${arguments[0]}" --exit-code 3 "${arguments[@]:3}"
fi
end_published
