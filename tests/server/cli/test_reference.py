"""docs/command-line.md says which options there are."""

from pathlib import Path

from hipscope.server.cli.reference import PAGE, renewed

ROOT = Path(__file__).parents[3]


def test_the_page_of_the_command_line_is_as_the_parser_is() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert renewed(page) == page, "run `python -m hipscope.server.cli.reference`"


def test_an_option_that_is_not_on_the_page_is_noticed() -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert "`--jobs N`" in page
    assert renewed(page.replace("`--jobs N`", "")) == page
