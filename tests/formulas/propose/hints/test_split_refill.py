"""Loops with a buffer that is refilled: the split text, what keeps a loop whole, and that a slip in it is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.facts.launch_facts import LaunchFacts, SourceTypes
from hipscope.formulas.judge.bench import open_bench
from hipscope.formulas.judge.judge import admit, prove
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.hints.split_refill import RefillLoop, refill_loop, split_at_refills
from hipscope.formulas.propose.hints.variants import Hints, LoopHint, variants_of
from hipscope.formulas.propose.splice import apply_splices

KERNEL = """__global__ void stream(unsigned char* __restrict__ out, unsigned seed, int n) {
  unsigned char buffer[16];
  unsigned position = 16;
  for (int i = 0; i < n; ++i) {
    // 16 bytes at a time
    if (position >= 16) {
      for (int b = 0; b < 16; ++b) {
        seed = seed * 1664525u + 1013904223u;
        buffer[b] = seed >> 24;
      }
      position = 0;
    }
    out[i] ^= buffer[position];
    position++;  // each byte once
  }
}
"""
SPLIT = """  for (int i = 0; i < n;) {
    // 16 bytes at a time
    if (position >= 16) {
      for (int b = 0; b < 16; ++b) {
        seed = seed * 1664525u + 1013904223u;
        buffer[b] = seed >> 24;
      }
      position = 0;
    }
    const auto left = 16 - position;  // steps up to the next refill
    const int end = left < n - i ? i + left : n;
    for (; i < end && i + 7LL < end; i += 8) {  // 8 steps at once
      unsigned char out_at[8];
      #pragma unroll
      for (int u = 0; u < 8; ++u) out_at[u] = out[i + u];
      #pragma unroll
      for (int u = 0; u < 8; ++u) {
        const int i_u = i + u;
        out_at[u] ^= buffer[position];
        position++;  // each byte once
        out[i_u] = out_at[u];
      }
    }
    for (; i < end; ++i) {
      out[i] ^= buffer[position];
      position++;  // each byte once
    }
  }
}
"""


def loop_of(text: str) -> tuple[KernelSyntax, RefillLoop | str]:
    source = text.encode()
    kernel = see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))
    node = next(n for n in kernel.body_node.named_children if n.type == "for_statement")
    return kernel, refill_loop(node, kernel, LaunchFacts(), source)


def test_the_steps_between_two_refills_are_a_loop_of_their_own() -> None:
    kernel, found = loop_of(KERNEL)
    assert isinstance(found, RefillLoop)
    split = split_at_refills(KERNEL.encode(), kernel, LaunchFacts(), found, 8)
    assert split is not None
    assert apply_splices(KERNEL.encode(), [split[0]]).decode().endswith(SPLIT)
    assert split[1] == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("position >= 16", "position == 16", "does not begin each step by asking"),
        ("position >= 16", "position >= n", "does not begin each step by asking"),
        ("      position = 0;\n", "      position = 16;\n", "does not set `position`"),
        ("      position = 0;\n", "      position = 0;\n      seed += 1;\n", "does not set `position`"),
        ("position++;", "position += 2;", "does not move `position` by 1"),
        ("position++;", "position++; if (i == 3) position = 1;", "does not move `position` by 1"),
        ("unsigned position", "float position", "something else than a whole number"),
        ("unsigned position = 16;", "unsigned position = 16, *p = &position;", "something else than a whole"),
        ("++i) {", "i += 2) {", "does not count up by 1 from 0 or more"),
        ("int i = 0", "int i = -n", "does not count up by 1 from 0 or more"),
        ("position++;", "position++; if (out[i] == 7) break;", "can be left in the middle"),
        ("position++;", "position++; n -= 1;", "changes its own bounds"),
    ],
)
def test_what_may_need_another_refill_stays_whole(old: str, new: str, reason: str) -> None:
    assert old in KERNEL
    _, found = loop_of(KERNEL.replace(old, new))
    assert isinstance(found, str)
    assert reason in found


MEMBER = b"""
struct Cipher {
  unsigned char buffer[64];
  unsigned position;
  __device__ void next();
  __device__ void mark() { position = 9; }
  __device__ void run(unsigned char* out, int n) {
    for (int i = 0; i < n; ++i) {
      if (position >= 64) {
        next();
        position = 0;
      }
      out[i] ^= buffer[position];
      position++;
    }
  }
};
"""


def test_a_member_of_the_object_is_the_position_where_no_step_calls_its_functions() -> None:
    for source, expected in ((MEMBER, True), (MEMBER.replace(b"position++;", b"position++; mark();"), False)):
        function = next(f for f in device_functions(source) if f.name == "run")
        kernel = see_through(function, callables_in([source]), definitions_in([source]))
        at = source.index(b"position >= 64")
        facts = LaunchFacts(types=SourceTypes(source, spans={(at, at + 8): "unsigned int"}))
        (node,) = (n for n in kernel.body_node.named_children if n.type == "for_statement")
        found = refill_loop(node, kernel, facts, source)
        assert isinstance(found, RefillLoop) == expected
        if isinstance(found, RefillLoop):
            split = split_at_refills(source, kernel, facts, found, 16)
            assert split is not None
            assert "no pointer that `run` stores through leads to its own object" in split[1]


PROGRAM = (
    "#include <hip/hip_runtime.h>\n"
    + KERNEL
    + """int main() {
  unsigned char* out;
  (void)hipMalloc(&out, 1024);
  (void)hipMemset(out, 3, 1024);
  stream<<<1, 1>>>(out, 7, 300);
  return hipDeviceSynchronize();
}
"""
)


@pytest.mark.slow
def test_a_split_loop_is_proved_and_a_slip_in_it_is_not(tmp_path: Path) -> None:
    file = tmp_path / "main.hip"
    file.write_text(PROGRAM)
    project = resolve_project(file, config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    (kernel,) = session.profile.kernels
    with open_bench(project, session, kernel) as bench:
        variants = variants_of(file, bench.original, bench.kernel, [kernel], bench.facts)
        candidate = variants.candidate(Hints(((0, LoopHint(8, "refill")),)))
        assert candidate.title == "Do 8 steps of the loop on line 5 at once between two refills"
        compiled = admit(bench, candidate, bench.run)
        assert not hasattr(compiled, "stage"), compiled
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.equivalent, verdict.reason
        for right, wrong in (("16 - position", "17 - position"), ("i + left : n", "i + left + 1 : n")):
            text = candidate.text.replace(right.encode(), wrong.encode())
            assert text != candidate.text
            slip = Candidate("slip", "", text, "")
            compiled = admit(bench, slip, bench.run)
            assert not hasattr(compiled, "stage"), compiled
            assert not prove(bench, slip, compiled, bench.run).equivalent, wrong
