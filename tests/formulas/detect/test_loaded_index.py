"""Whether the index of an access comes from memory, or is computed from the lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.source.texts import ByteColumn, SourceTexts
from hipscope.formulas.detect.loaded_index import has_loaded_index

KERNEL = """__global__ void k(const int* edges, const int* first, float* visited, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  {before}
  {access}
}}
"""


@pytest.mark.parametrize(
    ("before", "access", "at", "loaded"),
    [
        ("int id = edges[i];", "if (visited[id] > 0) return;", "visited", True),
        ("int id; id = __ldg(&edges[i]);", "visited[id + 1] = 0;", "visited", True),
        ("", "visited[edges[i]] = 0;", "visited", True),
        ("const int id = edges[i];", "float x = visited[id];", "= visited", True),
        ("int id = edges[i];", "visited[id] = first[i];", "= first", True),
        ("int id = edges[i];", "visited[i * n] = first[id];", "= first", False),
        ("int id = edges[i];", "float x = points[id].x;", "x;", True),
        ("int id = i * n;", "visited[id] = 0;", "visited", False),
        ("int id = n * edges[0];", "visited[i + id] = 0;", "visited", False),
        ("int other = edges[i];", "visited[i * n] = other;", "visited", False),
    ],
)
def test_an_index_is_loaded_where_its_value_is_an_element(
    tmp_path: Path, before: str, access: str, at: str, loaded: bool
) -> None:
    file = tmp_path / "k.hip"
    file.write_text(KERNEL.format(before=before, access=access))
    column = ByteColumn(3 + access.index(at))

    assert has_loaded_index(SourceTexts(), str(file), 4, column) is loaded
