"""The site builds without a warning, holds every page, and its links and anchors lead somewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import cmarkgfm
import pytest

from accgate._version import REPOSITORY
from accgate.inputs.toml import tomllib
from benchmarks.pictures import PICTURES
from tests.docs.blocks import OPTIONS, PAGES, ROOT, SITE
from tests.docs.site import build
from tests.support.cases import each

pytestmark = pytest.mark.slow
FILES = f"https://github.com/{REPOSITORY}/blob/main/"
LOADING = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Html(HTMLParser):
    """The ids of a page and what it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.references: list[tuple[str, str, str]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value is not None:
                self.references.append((tag, name, value))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, done = build(tmp_path_factory.mktemp("site"))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert not re.search("warning|error|griffe|could not", said, re.IGNORECASE), said
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Html]:
    return {path: Html(path) for path in site.rglob("*.html")}


def test_every_page_is_in_the_navigation_and_was_built(site: Path) -> None:
    named = set(re.findall(r'"([\w-]+\.md)"', str(tomllib.loads((ROOT / "zensical.toml").read_text()))
                           .replace("'", '"')))  # fmt: skip
    assert named == {page.name for page in SITE}
    assert {page.with_suffix(".html").name for page in SITE} <= {path.name for path in site.glob("*.html")}


def test_links_and_anchors_lead_somewhere(site: Path, pages: dict[Path, Html]) -> None:
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its addresses are those of a server's root
            continue
        for tag, _, address in page.references:
            if address.startswith(FILES):
                if not (ROOT / unquote(address.removeprefix(FILES))).exists():
                    broken.append(f"{path.name}: <{tag}> {address}")
                continue
            if re.match(r"[a-z]+:", address):
                continue
            name, anchor = urldefrag(address)
            target = (path.parent / unquote(name)).resolve() if name else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_relative_to(site) or not target.exists():
                broken.append(f"{path.name}: <{tag}> {address}")
            elif anchor and target in pages and anchor not in pages[target].ids | {"__top"}:
                broken.append(f"{path.name}: <{tag}> {address}: no such anchor")
    assert not broken, "\n".join(broken)


def test_links_between_pages_hold_in_the_repository_too(pages: dict[Path, Html], site: Path) -> None:
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for address in re.findall(r"\]\(([^)\s]+)\)", text):
            name, anchor = urldefrag(address)
            if re.match(r"[a-z]+:", address):
                continue
            target = (page.parent / name).resolve() if name else page
            assert target.exists(), f"{page.name}: {address}"
            if anchor:
                assert anchor in pages[site / target.with_suffix(".html").name].ids, f"{page.name}: {address}"


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Html]) -> None:
    for path, page in pages.items():
        loaded = [address for tag, name, address in page.references if (tag, name) in LOADING]
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], path.name


def test_every_function_of_the_package_is_in_the_reference(pages: dict[Path, Html], site: Path) -> None:
    import accgate

    ids = pages[site / "api.html"].ids
    for name in set(accgate.__all__) - {"__version__"}:
        known = getattr(accgate, name)
        path = f"{getattr(known, '__module__', 'accgate')}.{name}"
        inside = any(each.startswith(f"accgate.{name}.") for each in ids)  # of metrics and errors
        assert {f"accgate.{name}", path} & ids or inside, f"docs/api.md has no {name}"


@each("page", [page for page in SITE if page.name != "api.md"])
def test_a_page_has_the_same_parts_in_the_site_as_on_github(page: Path, site: Path) -> None:
    html = (site / page.with_suffix(".html").name).read_text(encoding="utf-8")
    article = re.search("<article.*?</article>", html, re.DOTALL)
    assert article is not None
    on_github = cmarkgfm.github_flavored_markdown_to_html(page.read_text(encoding="utf-8"), options=OPTIONS)
    for part in ("h1", "h2", "h3", "p", "ul", "ol", "li", "table", "tr", "td", "strong", "em", "img"):
        count = [len(re.findall(f"<{part}[ >]", text)) for text in (on_github, article[0])]
        assert count[0] == count[1], f"{page.name}: <{part}> {count[0]} times on GitHub, {count[1]} in the site"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_those_that_their_script_draws(name: str) -> None:
    drawn = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
    assert PICTURES[name]() == drawn, "run python benchmarks/pictures.py"


@pytest.mark.parametrize("name", PICTURES)
def test_figures_told_of_a_picture_are_those_that_it_shows(name: str) -> None:
    (told,) = re.findall(rf"!\[([^\]]*)\]\(pictures/{name}\.svg\)", (ROOT / "docs/concepts.md").read_text())
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", PICTURES[name]()))
    figures = {figure for figure in re.findall(r"\d+(?:\.\d+)?", told) if "." in figure or int(figure) > 20}
    assert figures - {"2.75", "745", "200"} <= set(re.findall(r"\d+(?:\.\d+)?", shown))  # those are its parameters
