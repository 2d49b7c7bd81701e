"""A save starts a profile only in GPU code: by its own text, or by a header beside it."""

from pathlib import Path

import pytest

from hipscope.server.session.gpu_sources import is_gpu_source

FILES = {
    "/p/kernels.h": '#include "deeper/launch.h"\n',
    "/p/deeper/launch.h": "__global__ void k();\n",
    "/p/plain.h": '#include "plain.h"\nint f();\n',
}


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("__global__ void k() {}", True),
        ("int main() { k<<<1, 64>>>(); }", True),
        ("#include <hip/hip_runtime.h>\nint main() {}", True),
        ('#include "kernels.h"\nint main() { launch(); }', True),
        ("int main() { hipMalloc(&p, 4); }", True),
        ('#include "plain.h"\n#include "missing.h"\nint main() { return f(); }', False),
        ("#include <vector>\nint main() { std::cout << 1; }", False),
    ],
)
def test_gpu_code_is_seen_in_the_text_and_through_headers_beside_it(text: str, gpu: bool) -> None:
    assert is_gpu_source(Path("/p/main.cpp"), text, FILES.get) is gpu
