"""A smaller problem is read off what sources say of their arguments."""

import pytest

from hipscope.analysis.build_files.size_options import SizeOptions, guessed_arguments, size_options

USAGE = r"""printf("Usage: %s [options]\n"
  "  -s <size>    size of the grid (default: 512)\n"
  "  -l, --lookups N  number of lookups, default 17000000\n"
  "  -d <id>  device (default 64)\n"
  "  -h  this help\n");"""
NAMED = 'puts("  -s <size>  Size of the benchmark to run (small, large)");'
READS = "int main(int c, char** argv) { const int n = atoi(argv[1]); }"
SETS = "int n = 4096, r = 10; if (argc > 2) { n = atoi(argv[1]); r = std::stoi(argv[2]); }"


@pytest.mark.parametrize(
    ("text", "given", "smaller"),
    [
        (USAGE, (), ("-s", "64", "-l", "2125000")),
        (SETS, (), ("512", "10")),
        (READS, ("1000000", "7", "in.txt"), ("125000", "7", "in.txt")),
        (READS, (), ()),
        (SETS.replace("r =", "block =").replace("10", "256"), (), ("512", "256")),
        ("int main() { return 0; }", (), ()),
        (USAGE, ("-s", "4", "-l", "9"), ()),
        (NAMED, ("-m", "event"), ("-m", "event", "-s", "small")),
    ],
)  # fmt: skip
def test_numbers_become_an_eighth_where_they_are_known(
    text: str, given: tuple[str, ...], smaller: tuple[str, ...]
) -> None:
    assert size_options([text], given).smaller == smaller


def test_options_are_said_as_the_program_writes_them() -> None:
    said = (
        "-s <size> size of the grid (default: 512)",
        "-l, --lookups N number of lookups, default 17000000",
    )
    assert size_options([USAGE]).said == said
    assert size_options(["int main(int c, char** argv) { size = atoi(argv[1]); }"]) == SizeOptions(("size",))


@pytest.mark.parametrize(
    ("usage", "guessed"),
    [
        ("Usage: <# iterations> <array dimension> [<block size> <stencil radius>]", ("2", "256")),
        ("usage: ./main <number of elements> <repeat>", ("256", "2")),
        ("usage: ./main <input file> <repeat>", ()),
        ("usage: ./main <block size>", ()),
        ("usage: ./main MODE <repeat>", ()),
        ("It takes <size> words.", ()),
    ],
)
def test_a_usage_that_wants_amounts_only_gets_small_ones(usage: str, guessed: tuple[str, ...]) -> None:
    assert guessed_arguments(f"A program\n{usage}\n") == guessed
