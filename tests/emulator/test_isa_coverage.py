"""Which instructions the emulator knows: the project's own list, and what a compiler really emits."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_encodings as encodings
from tests.emulator import isa_oracle as isa

LIST = Path(__file__).parent / "isa_mnemonics.txt"
CORPUS = isa.ROOT.parent / "shared" / "reference" / "gfx942_mnemonics.csv"
SUFFIXES = ("_e32", "_e64", "_sdwa", "_dpp")


def supported() -> set[str]:
    done = subprocess.run([str(isa.probe()), "--list"], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def base(mnemonic: str) -> str:
    for suffix in SUFFIXES:
        mnemonic = mnemonic.removesuffix(suffix)
    return mnemonic


def test_the_list_of_instructions_is_what_the_table_holds() -> None:
    """The list is documentation too; after adding a row, write it again with `hipscope-isa-probe --list`."""
    assert set(LIST.read_text().split()) == supported()


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus's list is not beside this checkout")
def test_everything_that_the_corpus_of_programs_uses_is_known() -> None:
    with CORPUS.open(newline="") as file:
        used = [line["mnemonic"] for line in csv.DictReader(file)]
    known = supported()
    missing = [m for m in used if base(m) not in known and base(m).replace("v_cmpx_", "v_cmp_") not in known]
    assert missing == []


def refused() -> dict[str, str]:
    done = subprocess.run([str(isa.probe()), "--refused"], check=True, capture_output=True, text=True)
    return dict(line.split("\t") for line in done.stdout.splitlines())


def is_refused(name: str, rows: dict[str, str]) -> bool:
    return name in rows or any(row.endswith("_") and name.startswith(row) for row in rows)


@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx950"])
def test_every_instruction_that_llvm_knows_is_executed_or_refused_with_a_reason(target: str) -> None:
    tool = isa.tool("llvm-mc")
    if not isa.knows(tool, target):
        pytest.skip(f"{tool} does not know {target}")
    all_names = encodings.mnemonics(tool, target)
    assert len(all_names) > 1600  # the enumeration itself works
    known, rows = supported(), refused()
    missing = {
        line
        for name, line in all_names.items()
        if base(name) not in known
        and base(name).replace("v_cmpx_", "v_cmp_") not in known
        and not is_refused(base(name), rows)
    }
    assert missing == set()


def test_8_bit_floats_of_gfx950_are_other_formats(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\tv_cvt_f32_fp8_e32 v0, v1                // 000000001700: 7E00A901\n")
    states = isa.fresh()
    states["vgpr"][0][1] = 0x38
    for target, want in (("gfx942", 0.5), ("gfx950", 1.0)):
        after = isa.run_disassembly(text, states, tmp_path, target)[0]
        assert isa.decode(int(after["vgpr"][0][0]), "f32") == want


def test_the_page_of_the_emulator_lists_what_is_refused() -> None:
    page = (isa.ROOT / "docs" / "emulator" / "instructions.md").read_text()
    for name, reason in refused().items():
        assert f"| `{name}{'*' if name.endswith('_') else ''}` | {reason} |" in page


def test_nothing_is_both_executed_and_refused() -> None:
    rows = refused()
    assert [name for name in supported() if is_refused(name, rows)] == []


def test_an_unknown_instruction_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(
        "0000000000001700 <kernel>:\n"
        "\ts_mov_b32 s0, 1                  // 000000001700: BE800081\n"
        "\tv_frobnicate_b32 v0, v1          // 000000001704: 7E000301\n"
        "\tv_mov_b32_e32 v0, what           // 000000001708: 7E000301\n"
        "\tline without a comment\n"
        "\ts_endpgm                         // 00000000170C: BF810000\n"
    )
    done = subprocess.run(
        [str(isa.probe()), "--check", str(text)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "v_frobnicate_b32 v0, v1: unknown mnemonic v_frobnicate_b32",
        "v_mov_b32_e32 v0, what: unknown operand what",
    ]
    assert done.stderr.startswith("4 instructions, 2 unsupported")


def level_that_runs(folder: Path) -> str:
    text = folder / "nothing.s"
    text.touch()
    done = subprocess.run(
        [str(isa.probe()), "--check", str(text)], capture_output=True, text=True, check=False
    )
    return done.stderr.rstrip().rpartition(" ")[2]


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_build_of_the_handlers_gives_the_same_bits(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "v_fma_f32 v10, v0, v1, v2",
        "v_fma_f64 v[12:13], v[0:1], v[2:3], v[4:5]",
        "v_div_scale_f32 v14, vcc, v0, v1, v0",
        "v_cvt_f16_f32_e32 v15, v0",
        "v_pk_fma_f16 v16, v0, v1, v2",
        "v_mul_hi_u32 v17, v0, v1",
        "v_cmp_lt_f32_e64 s[4:5], v0, v1",
        "v_rsq_f32_e32 v18, v0",
        "v_med3_f32 v19, v0, v1, v2",
    ]
    states = isa.fresh()
    states["count"] = len(lines)
    states["vgpr"] = np.random.default_rng(4).integers(0, 2**32, size=states["vgpr"].shape, dtype=np.uint32)
    usual = isa.run(lines, states, tmp_path)[0]
    monkeypatch.setenv("HIPSCOPE_ISA_LEVEL", level)
    if level_that_runs(tmp_path) != level:
        pytest.skip(f"the handlers are not compiled for {level}: scripts/setup.sh levels")
    lowered = isa.run(lines, states, tmp_path)[0]
    assert np.array_equal(usual["vgpr"], lowered["vgpr"])
    assert np.array_equal(usual["sgpr"], lowered["sgpr"])
