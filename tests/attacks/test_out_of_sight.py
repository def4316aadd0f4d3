"""References of which the base commit has only an empty folder: no pull request brings its own in their place."""

import shutil

import pytest

from tests.attacks.chain import Chain
from tests.support.gates import Project, right_but
from tests.support.runner import commit, git


@pytest.mark.parametrize("place", ["references", "references/m"])
def test_references_in_a_submodule_are_not_brought_by_the_pull_request(chain: Chain, place: str) -> None:
    """actions/checkout reads submodules where it is told to; the tree of the base has none of their files."""
    chain.begin()
    store = chain.folder / "store"
    shutil.move(chain.repository / place, store)
    commit(store)
    commit(chain.repository)
    git(chain.repository, "submodule", "--quiet", "add", str(store), place)
    commit(chain.repository)

    def bring(head: Project) -> None:
        git(head.folder, "submodule", "--quiet", "update", "--init")
        for file in sorted((head.folder / "references/m").glob("sums.*")):
            file.unlink()
        head.recorded(right_but(40, 60))

    ended = chain.pull(bring, wrong=40)
    assert not ended.is_green
    assert ended.run == 2
    assert "the base's references are unknown" in ended.said
