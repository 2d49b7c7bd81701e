"""The documents: the places that they name exist, and so do the pages that they link to."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks" / "notes").glob("*.md")),
    ROOT / "emulator/native/README.md",
]
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(#[^)]*)?\)")
PLACE = re.compile(r"`(?P<place>[\w.-]+(?:/[\w.-]+)+/?)`")
PARTS = ("analysis", "accordo", "emulator", "formulas", "server", "tests", "docs")


def label(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_a_link_leads_to_a_page_that_exists(page: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(page.read_text(encoding="utf-8"))]
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "ARCHITECTURE.md", ROOT / "docs" / "where.md"], ids=label)
def test_a_place_in_the_map_exists(page: Path) -> None:
    places = [found["place"] for found in PLACE.finditer(page.read_text(encoding="utf-8"))]
    assert [place for place in places if place.startswith(PARTS) and not (ROOT / place).exists()] == []


def test_where_answers_thirty_questions() -> None:
    rows = [
        line
        for line in (ROOT / "docs" / "where.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    assert len(rows) - 2 >= 30


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = re.findall(
        r"^ +- (?:\w+: )?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(menu) == sorted(pages)


DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]


@pytest.mark.parametrize("page", DOCS, ids=label)
def test_a_page_is_short_enough_to_be_read(page: Path) -> None:
    assert len(page.read_bytes()) <= 8 * 1024


@pytest.mark.parametrize("page", DOCS, ids=label)
def test_a_page_says_first_what_it_is_for(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\n## What it means\n", "")  # a finding's page begins so
    title, empty, first, *_ = text.splitlines()
    assert title.startswith("# ")
    assert empty == ""
    assert re.match(r"[\w`*\[(]", first), "a sentence, not a table, a list or a heading"


# Where a reader meets the words of the field first.
FIRST_PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("accordo", "captures", "check", "emulator", "rewrites")),
]


@pytest.mark.parametrize("name", FIRST_PAGES)
def test_the_first_words_of_the_field_lead_to_sections_of_the_glossary(name: str) -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    sections = {title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", glossary, re.MULTILINE)}
    linked = set(re.findall(r"glossary\.md#([\w-]+)", (ROOT / name).read_text(encoding="utf-8")))
    assert linked
    assert linked <= sections


def test_the_editors_of_the_readme_are_set_up_as_the_tested_page_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"in `init\.lua`:\n\n((?: {6}.*\n)+)", readme)
    assert textwrap.indent(textwrap.dedent(block), "    ") in page
    assert "eglot-server-programs" not in readme  # one place has it: the page


def test_what_is_installed_outside_of_an_environment_is_installed_by_pipx() -> None:
    pages = [
        ROOT / "README.md",
        ROOT / "vscode-extension" / "README.md",
        *(ROOT / "vscode-extension" / "media").glob("*.md"),
    ]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"^ *(?:\$ )?(?:python3 -m )?pip install", text, re.MULTILINE), page
        assert "`python3 -m pip install" not in text, page
