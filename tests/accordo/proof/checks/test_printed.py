"""What device code prints is a result: other messages are rejected, other roundings and orders are not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.reference.prepare import Reference
from tests.accordo.adversarial.subjects import FOLDER, rewrites
from tests.accordo.proof.test_adversarial import verdict

PROGRAM = FOLDER / "report.hip"


@pytest.fixture(scope="module")
def prepared() -> Iterator[tuple[accordo.Recording, Reference]]:
    with accordo.capture(PROGRAM, kernel="report") as recording:
        yield recording, accordo.prepare(recording)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("silent", "it prints 0 messages instead of"),
        ("other_words", "it prints `element "),
        ("other_number", "instead of `element "),
        ("once", "Equivalent"),
    ],
)
def test_the_output_of_a_kernel_is_compared(
    name: str, said: str, prepared: tuple[accordo.Recording, Reference]
) -> None:
    (candidate,) = (r for r in rewrites(PROGRAM) if r.name == name)
    found = verdict(*prepared, candidate)
    assert said in found.reason
    assert found.equivalent == (candidate.kind == "right")
