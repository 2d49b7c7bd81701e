"""The pages of the command line say which commands and options there are."""

from pathlib import Path

import pytest

from hipscope.server.cli.reference import PAGES, renewed

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", PAGES)
def test_the_pages_of_the_command_line_are_as_the_parser_is(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert renewed(page, text) == text, "run `python -m hipscope.server.cli.reference`"


def test_an_option_that_is_not_on_its_page_is_noticed() -> None:
    (page,) = (p for p in PAGES if "`--jobs N`" in (ROOT / p).read_text(encoding="utf-8"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert renewed(page, text.replace("`--jobs N`", "")) == text


def test_each_option_stands_on_one_page_or_two() -> None:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    assert sum("`--format text" in text for text in texts) == 3
    assert sum("`--apply`" in text for text in texts) == 1
