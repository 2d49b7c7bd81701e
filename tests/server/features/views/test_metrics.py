"""The counters of a kernel as metrics: grouped in the hover, all of them with raw names on a page."""

from dataclasses import replace

import pytest
from pygls.exceptions import JsonRpcException

from hipscope.server.features.views.metrics import all_metrics, link_to_all, shown_metrics
from hipscope.server.render.blocks import to_plain
from hipscope.server.reports.schema.profile import Report
from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, until

COUNTED = {
    "SQ_WAVES": 2048.0,
    "SQ_INSTS_LDS": 65536.0,
    "SQ_LDS_BANK_CONFLICT": 4096.0,
    "SQ_LDS_IDX_ACTIVE": 8192.0,
}


def test_a_hover_has_groups_in_words_and_units_and_no_raw_name(report: Report) -> None:
    kernel = replace(report.kernels[0], counters=COUNTED)
    on_device = replace(report, device=replace(report.device, arch="gfx942"))
    said = to_plain(shown_metrics(on_device, kernel))
    assert "LDS " in said
    assert "SQ_" not in said
    whole = to_plain(all_metrics(on_device, kernel))
    assert all(name in whole for name in COUNTED)
    assert whole.index("LDS") < whole.index("All counters") < whole.index("SQ_INSTS_LDS")


def test_an_architecture_without_a_table_shows_its_counters(report: Report) -> None:
    kernel = replace(report.kernels[0], counters=COUNTED)
    other = replace(report, device=replace(report.device, arch="sm_90"))
    assert "SQ_WAVES" in to_plain(shown_metrics(other, kernel))


async def test_the_link_of_the_hover_opens_all_of_them(client: Editor, report: Report) -> None:
    assert "(command:hipscope.server.metrics?" in link_to_all(client.uri, report.kernels[0])
    client.open(PROGRAM)
    with pytest.raises(JsonRpcException, match="profile it first"):
        await client.run("hipscope.server.metrics")
    await client.run(PROFILE)
    await client.run("hipscope.server.metrics")
    (page,) = await until(lambda: [p for m, p in client.custom if m == "hipscope/page"])
    assert page["title"] == "Metrics of transpose"
    assert "`SQ_WAVES`" in page["markdown"]
