"""What a source includes in quotation marks, of a given version of the files."""

from __future__ import annotations

from pathlib import Path

from hipscope.analysis.source.includes import included_files, texts_with_types
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
