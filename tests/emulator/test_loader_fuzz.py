"""Damaged code objects: refused with a line, or a run that ends; never a crash. See docs/emulator.md, "Faults"."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from hipscope.emulator.runner import replay_executable

SAMPLES = Path(__file__).parent / "fuzz" / "samples.py"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    spec = importlib.util.spec_from_file_location("fuzz_samples", SAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: list[Path] = module.write_samples(
        tmp_path_factory.mktemp("samples"), ["atomics_scopes", "indirect_calls"]
    )
    return made


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_code_objects_never_bring_the_process_down(samples: list[Path], seed: int) -> None:
    fuzzer = replay_executable().with_name("hipscope-loader-fuzz")
    if not fuzzer.exists():
        pytest.skip("hipscope-loader-fuzz is built in a checkout only")
    argv = [str(fuzzer), "1500", str(seed), *map(str, samples)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    counts = {line.split(maxsplit=1)[1]: int(line.split()[0]) for line in done.stdout.splitlines()}
    assert counts["loaded"] > 50  # changes that the loader cannot see were run
    assert sum(counts.values()) - counts["loaded"] > 300
