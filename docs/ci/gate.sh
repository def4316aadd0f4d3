#!/bin/sh
# The gate where no GitHub Action runs: the checked-out commit's models, by the rules of the branch that it goes to.
#
#   gate.sh trees BRANCH          with git, and a clone that has the remote `origin`: the files of both commits
#   gate.sh run [CONFIG] [OUT]    with accgate, in the same folder: evaluates; its exit code is accgate's
#
# Images of accgate have no git, so these are two. OUT (accgate-out) gets comment.md to post, report.html, junit.xml,
# accgate.json and the records.
set -eu
root=$PWD trees=$PWD/accgate-trees

lay_out() { # COMMIT FOLDER: the commit's files, whatever the workspace holds
  GIT_INDEX_FILE=$trees/index git read-tree "$1" && GIT_INDEX_FILE=$trees/index git checkout-index --all --prefix="$trees/$2/"
}

case ${1:-} in
  trees)
    rm -rf "$trees"
    mkdir -p "$trees/empty" "$trees/base" "$trees/head" && touch "$trees/empty/.keep" # artifacts hold no empty folder
    if ! { git fetch --quiet --no-tags --depth=1 origin "+refs/heads/$2:refs/accgate/base" &&
      lay_out refs/accgate/base base && lay_out HEAD head; }; then
      echo "gate.sh: branch $2 of origin cannot be fetched and laid out" >&2
      exit 3 # 1 would say that the accuracy regressed
    fi
    rm -f "$trees/index"
    ;;
  run)
    config=${2:-accuracy.toml} out=$root/${3:-accgate-out} code=0
    [ -d "$trees/head" ] || { echo "gate.sh: first run gate.sh trees BRANCH here" >&2; exit 3; }
    mkdir -p "$out" || exit 3
    if [ -e "$trees/base/$config" ]; then
      rules="--base $trees/base/$config"
    else
      echo "gate.sh: the branch has no $config: the commit's own rules decide until one is merged" >&2
      rules="--tree $trees/head"
    fi
    cd "$trees/empty" # a dataset may be named as a folder is: no tree is the working directory
    accgate run "$trees/head/$config" "${rules%% *}" "${rules#* }" --workspace "$(dirname "$root/$config")" --out "$out" --html || code=$?
    [ -e "$out/accgate.json" ] || exit "$code"
    accgate report "$out/accgate.json" --junit "$out/junit.xml" || true
    if [ "${rules%% *}" = --tree ]; then
      accgate report "$out/accgate.json" --markdown "$out/comment.md" || true
      exit "$code"
    fi
    # Decides again from the records, and says which rules the commit changes: 4 where it loosens one.
    accgate publish --dry-run "$out/accgate.json" --config "$config" --exit-code "$code" --base "$trees/base" --head "$trees/head" \
      >"$out/comment.md" || guarded=$?
    [ "$code" -ne 0 ] || code=${guarded:-0}
    exit "$code"
    ;;
  *)
    echo "gate.sh: write trees BRANCH, or run" >&2
    exit 2
    ;;
esac
