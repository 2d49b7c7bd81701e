"""Wait reasons, bounds and groups of metrics lead to the page that says what they mean."""

import re
import tomllib
from pathlib import Path

from hipscope.server.render.blocks import Table, to_markdown
from hipscope.server.render.explain import bound_words
from hipscope.server.render.formula_pages import anchor, rendered_links, with_pages
from hipscope.server.render.words import REASONS

ROOT = Path(__file__).parents[3]
HEADINGS = re.findall(r"^#+ (.+)$", (ROOT / "docs" / "waits.md").read_text(), re.MULTILINE)
CLASSES = ROOT / "analysis" / "classification" / "classes.toml"
OF_A_RUN = {"launching", "copies", "host", "gpu"}  # and not of a kernel


def test_the_page_has_each_reason_and_each_bound_of_a_kernel() -> None:
    assert {name for name, _ in REASONS.values()} <= set(HEADINGS)
    bounds = {one["class"] for one in tomllib.loads(CLASSES.read_text())["class"]} - OF_A_RUN
    assert {bound_words(bound) for bound in bounds} <= set(HEADINGS)


def test_reasons_and_bounds_are_links_to_their_headings() -> None:
    table = Table(("waits for", "", "share"), (("LDS", "███", "90 %"), ("global memory", "", "10 %")))
    facts = Table(("", ""), (("time", "3 us"), ("limited by", "latency bound, few waves")))
    text = to_markdown(with_pages([table, facts, "The kernel is LDS bound: LDS 94 % busy."]))
    linked = dict(re.findall(r"\[([^\]]+)\]\(file:[^)]*/waits\.md#([\w-]+)\)", text))
    assert linked == {
        "LDS": "lds",
        "global memory": "global-memory",
        "latency bound, few waves": "latency-bound-few-waves",
        "LDS bound": "lds-bound",
    }
    assert set(linked.values()) <= {anchor(heading) for heading in HEADINGS}
    # In our extension they open rendered.
    assert len(re.findall(r"\(command:hipscope\.openPage\?", rendered_links(text))) == 4
