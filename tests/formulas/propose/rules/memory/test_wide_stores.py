"""Fills and copies byte by byte: which of them the compiler would keep, and which are the thread's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.rules.memory import wide_stores
from tests.formulas.propose.rules.cases import ask, candidates, metadata

FILE = """
#define MANY 4096
struct Pair {{ int a = 1; int b; }};
{head}
__global__ void k({parameters}) {{
  {body}
  out[threadIdx.x] = in[0];
}}
"""
POINTERS = "const int* in, int* out, int n"
PROMISED = "const int* __restrict__ in, int* __restrict__ out, int n"


def answer_for(body: str, parameters: str = POINTERS, head: str = "", scratch: int = 4096) -> str:
    """The lines of the body in the candidate, or why there is none."""
    text = FILE.format(body=body, parameters=parameters, head=head).encode()
    answer = ask("wide_stores", text, replace(LaunchFacts(), needs=metadata(scratch=scratch)))
    if isinstance(answer, Refusal):
        return answer.reason
    lines = candidates(answer)[0].text.decode().partition("void k(")[2].splitlines()[1:-2]
    return " ".join(line.strip() for line in lines)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("char a[2000]; memset(a, n, sizeof(a));", "char a[2000]; fill_bytes(a, n, sizeof(a));"),
        ("Pair a[MANY]; ::memset((void*)a, 0, 8 * n);", "Pair a[MANY]; fill_bytes((void*)a, 0, 8 * n);"),
        ("int *p, a[MANY]; memset(&a[n], 0, 99);", "int *p, a[MANY]; fill_bytes(&a[n], 0, 99);"),
        (
            "double a[9][MANY] = {}, b = n;",
            "double a[9][MANY], b = n; fill_bytes(a, 0, sizeof(a));",
        ),
    ],
)
def test_large_arrays_of_the_thread_are_filled_in_parts(body: str, after: str) -> None:
    assert answer_for(body) == after


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ int a[MANY]; memset(a, 0, sizeof(a));",  # its stores are wide already
        "memset(out + n, 0, 4096);",
        "int a[256] = {0};",  # a kibibyte: the compiler writes the stores out
        "int a[MANY] = {1};",
        "Pair a[MANY] = {};",  # members may begin with other values
        "static int a[MANY] = {0};",
        "const int a[MANY] = {0};",
        "int a[MANY] = {0}, b = a[n];",
        "void* p = memset(out, 0, 4096);",
        "char a[MANY]; char* p = (char*)memset(a, 0, MANY);",
        "int a[MANY]; { int a[3]; memset(a, 0, 12); }",
    ],
)
def test_other_memory_is_left_alone(body: str) -> None:
    assert "no large array" in answer_for(body)


def test_arrays_that_need_no_memory_are_left_alone() -> None:
    assert "no large array" in answer_for("int a[MANY] = {0};", scratch=64)


def test_functions_of_the_host_get_no_helper_of_the_device() -> None:
    text = b"__global__ void k(int* out) {\n  int a[999] = {0};\n  out[0] = a[out[1]];\n}\n"
    kernel = parse(text).kernels[0]
    both = replace(kernel, attributes=("__host__", "__device__"))
    assert isinstance(wide_stores.propose(text, kernel, None, LaunchFacts()), list)
    assert isinstance(wide_stores.propose(text, both, None, LaunchFacts()), Refusal)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("memcpy(out, in, 4 * n);", "__builtin_memcpy(out, in, 4 * n);"),
        ("std::memcpy(&out[n], (char*)in + n, 64);", "__builtin_memcpy(&out[n], (char*)in + n, 64);"),
        ("auto p = out + n; memcpy(p, in, 64);", "auto p = out + n; __builtin_memcpy(p, in, 64);"),
        (
            "const int* p = in + n; memcpy(out, p, 64);",
            "const int* p = in + n; __builtin_memcpy(out, p, 64);",
        ),
    ],
)
def test_copies_between_pointers_are_the_compilers(body: str, after: str) -> None:
    assert answer_for(body, scratch=0) == after


@pytest.mark.parametrize(
    "body",
    [
        "int a[24]; memcpy(a, in, 96);",  # nothing else leads there: the copies are wide already
        "__shared__ int a[24]; memcpy(a, in, 96);",
        "Pair a; memcpy(&a, in, 8);",
        "memcpy(place(out), in, 64);",
    ],
)
def test_copies_that_the_compiler_sees_through_are_left_alone(body: str) -> None:
    assert "copies nothing" in answer_for(body)


def test_promised_pointers_are_left_alone() -> None:
    assert "copies nothing" in answer_for("memcpy(out, in, 4 * n);", PROMISED)


def test_a_function_of_that_name_is_no_copy() -> None:
    own = "__device__ void memcpy(int* to, const int* from, int n) { to[n] = from[n]; }"
    assert "of its own" in answer_for("memcpy(out, in, n);", head=own)
