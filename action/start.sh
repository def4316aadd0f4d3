#!/usr/bin/env bash
# Host step 2: opens the check run on the head's commit. Fails if the event is refused, so that nothing is evaluated.
#
# Reads: ACCGATE_WORK, ACCGATE_IMAGE, ACCGATE_TOKEN, ACCGATE_CONFIG, ACCGATE_CHECK_NAME, ACCGATE_REQUIRED_BRANCHES, ACCGATE_FORK_ENVIRONMENT, and ACCGATE_COMMAND,
# ACCGATE_SHARD, ACCGATE_PUBLISH and ACCGATE_HEAD_REPOSITORY, the last empty if the event is not one of a pull request.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# A job that publishes nothing opens no check run. A fork is checked in any case, because its models would run here.
state=(--state "$INSIDE/publish/state.json")
if [[ ${ACCGATE_COMMAND:-run} == record || -n ${ACCGATE_SHARD:-} ]] || ! truth publish "${ACCGATE_PUBLISH:-true}"; then
  [[ ${ACCGATE_HEAD_REPOSITORY:=$GITHUB_REPOSITORY} != "$GITHUB_REPOSITORY" ]] || exit 0
  state=() # nobody would end its check run
fi
config=$(config_path "$ACCGATE_CONFIG")
take_options with_token "accgate-start-$(random)"
publishing --start "${state[@]}" --config "$config" \
  --check-name "$ACCGATE_CHECK_NAME" "--required-branches=$(one_line "${ACCGATE_REQUIRED_BRANCHES:-}")" \
  "--fork-environment=$(one_line "${ACCGATE_FORK_ENVIRONMENT:-}")"
end_published
