"""In the site, links that leave docs/ lead to the repository; in the repository they stay as they are."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor


class _Links(Treeprocessor):
    def __init__(self, md: Markdown, repository: str) -> None:
        super().__init__(md)
        self.repository = repository

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            target = link.get("href", "")
            if target.startswith("../"):
                link.set("href", self.repository + target.removeprefix("../"))


class RepositoryLinks(Extension):
    """`repository` is the address that a file's path is added to."""

    def __init__(self, **options: str) -> None:
        self.config = {"repository": ["", "address of the repository's files"]}
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        """Run after what makes the links."""
        md.treeprocessors.register(_Links(md, self.getConfig("repository")), "repository_links", -100)


def makeExtension(**options: str) -> RepositoryLinks:  # noqa: N802 (Markdown's name)
    """What Markdown calls."""
    return RepositoryLinks(**options)
