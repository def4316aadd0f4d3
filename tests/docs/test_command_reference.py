"""docs/commands.md is what the parser says."""

from docs.command_reference import PAGE, page


def test_the_page_is_that_of_the_parser() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m docs.command_reference"
