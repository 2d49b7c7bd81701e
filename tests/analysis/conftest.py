"""A cache for all tests of a run, an empty one for those that test the cache, and small HIP programs to build."""

import os
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain

PROGRAM = """#include <hip/hip_runtime.h>
__global__ void twice(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * in[i];
}
int main() {
    float* p = nullptr;
    twice<<<1, 64>>>(p, p, 64);
    return 0;
}
"""


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests and processes of a run, as a user has one: headers are precompiled once.

    What is built is found by its place, and each test has a place of its own.
    """
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "analysis-cache"


@pytest.fixture
def cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache directory, which other tests use, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared_cache))
    return shared_cache / "hipscope"


@pytest.fixture
def empty_cache(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory that lasts as long as the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "hipscope"


@pytest.fixture
def toolchain(cache: Path) -> Toolchain:
    """The compiler of this machine."""
    del cache
    return find_toolchain(Config())


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with one HIP program, twice.hip."""
    directory = tmp_path / "program"
    directory.mkdir()
    (directory / "twice.hip").write_text(PROGRAM)
    return directory / "twice.hip"
