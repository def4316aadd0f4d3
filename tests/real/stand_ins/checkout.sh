# For actions/checkout of a commit that is not the event's.
place=${WITH_PATH:-.}
mkdir -p "$place"
tar -C "$place" -xf "$ARTIFACTS/../trees/$WITH_REF.tar"
# The commit itself too, where there is git, and the repository, which containers do not see.
if command -v git >/dev/null && [[ -d $ARTIFACTS/../space/.git ]]; then
  git -C "$place" init --quiet
  git -C "$place" fetch --quiet --depth=1 "file://$(realpath "$ARTIFACTS/../space")" "$WITH_REF"
  git -C "$place" reset --quiet FETCH_HEAD
fi
