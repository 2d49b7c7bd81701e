"""What a source includes in quotation marks, of a given version of the files."""

from __future__ import annotations

from pathlib import Path

from hipscope.analysis.source.includes import included_files, read_before, texts_with_types
from hipscope.analysis.source.texts import SourceTexts


def test_headers_are_followed_once_and_in_the_order_of_their_reading(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    source, a, b = tmp_path / "k.hip", tmp_path / "sub" / "a.h", tmp_path / "sub" / "b.h"
    source.write_text('#include <x.h>\n#include "sub/a.h"\n  #  include"sub/b.h"\n#include "gone.h"\n')
    a.write_text('#include "b.h"\n#include "a.h"\n#include "../k.hip"\n')
    b.write_text("// nothing more\n")
    assert included_files(SourceTexts(), (source,)) == (source, a, b)


def test_an_unsaved_text_says_what_is_included(tmp_path: Path) -> None:
    source, header = tmp_path / "k.hip", tmp_path / "new.h"
    source.write_text("int saved;\n")
    texts = SourceTexts({source: b'#include "new.h"\n', header: b"struct S { int a; };\n"})
    assert included_files(texts, (source,)) == (source, header)
    assert texts_with_types(texts, source, (), tmp_path)[1] == b"struct S { int a; };\n"


def test_what_lies_outside_of_the_project_is_left_out(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    source, outside = root / "k.hip", tmp_path / "outside.h"
    source.write_text('#include "../outside.h"\n')
    outside.write_text("int secret;\n")
    assert included_files(SourceTexts(), (source,), root) == (source,)
    assert included_files(SourceTexts(), (source,)) == (source, outside)
    assert texts_with_types(SourceTexts(), source, (outside,), root) == (source.read_bytes(),)


def test_what_a_compiler_has_read_before_a_header_is_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    names = ("main.hip", "first.h", "lib/types.h", "inner.h", "k.h", "later.h", "other.h")
    main, first, types, inner, k, later, other = files = [tmp_path / name for name in names]
    main.write_text(
        '#include "first.h"\n#include <lib/types.h>\n#include <vector>\n#include "k.h"\n#include "later.h"\n'
    )
    k.write_text('#include "inner.h"\n#include "first.h"\n#include "k.h"\n')
    inner.write_text("#include <types.h>\n")
    for file in (first, types, later, other):
        file.write_text("// nothing more\n")
    assert read_before(SourceTexts(), (main,), k, files[1:]) == (first, types, inner)
    assert read_before(SourceTexts(), (main,), main, files[1:]) == (first, types, inner, k, later)
    assert read_before(SourceTexts(), (other,), k, files[1:]) == (types, inner, first)


def test_what_stands_before_a_source_that_others_include_is_found_by_these(tmp_path: Path) -> None:
    types, kernels, main = (tmp_path / name for name in ("types.hpp", "kernels.cu", "main.cu"))
    types.write_text("typedef float real;\n")
    kernels.write_text("__global__ void k(real* p);\n")
    main.write_text('#include "types.hpp"\n#include "kernels.cu"\n')
    assert read_before(SourceTexts(), (kernels, main), kernels, (types,)) == (types,)
