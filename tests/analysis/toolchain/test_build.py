"""Builds: messages, overlays, the cache, build commands, and what is inside code objects."""

import contextlib
import json
import os
import threading
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, Cancelled, HipscopeError, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import cache_directory, locked
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain import compiler_messages
from hipscope.analysis.toolchain.build import build_program, compile_device
from hipscope.analysis.toolchain.code_object import (
    code_object_metadata,
    embedded_code_objects,
)
from hipscope.analysis.toolchain.compiler_messages import build_failed
from hipscope.analysis.toolchain.discovery import Toolchain, openmp_runtime
from hipscope.analysis.toolchain.project import Project, resolve_project
from tests.unsaved import unsaved

KERNEL = "_Z5twicePKfPfi"
DRIVER = "clang++: error: linker command failed with exit code 1 (use -v to see invocation)\n"


def debug_files(code_object: Path, toolchain: Toolchain) -> str:
    return run_process([toolchain.bin / "llvm-dwarfdump", "--debug-line", code_object], timeout=30).text


@pytest.fixture
def project(program: Path) -> Project:
    return resolve_project(program)


class TestOneFile:
    def test_it_becomes_a_program_and_a_code_object(self, project: Project, toolchain: Toolchain) -> None:
        built = build_program(project, toolchain)
        assert os.access(built.argv[0], os.X_OK)
        assert built.directory == project.root
        assert built.compile_seconds > 0
        (kernel,) = code_object_metadata(built.code_objects[0])
        assert kernel.symbol == KERNEL
        assert [(a.offset, a.size) for a in kernel.explicit_arguments] == [(0, 8), (8, 8), (16, 4)]
        assert (kernel.wavefront_size, kernel.lds, kernel.vgpr_spills) == (64, 0, 0)

    def test_the_code_object_in_the_program_is_the_one_that_was_compiled(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        built = build_program(project, toolchain)
        assert embedded_code_objects(Path(built.argv[0]), "gfx942") == [built.code_objects[0].read_bytes()]
        assert embedded_code_objects(Path(built.argv[0]), "gfx90a") == []

    def test_debug_information_names_the_users_file(self, project: Project, toolchain: Toolchain) -> None:
        built = build_program(project, toolchain, unsaved(_main(project), b"\n" + _text(project)))
        assert f'"{project.main_source}"' in debug_files(built.code_objects[0], toolchain)
        assert "overlay" not in debug_files(built.code_objects[0], toolchain)

    def test_nothing_is_written_beside_the_source(self, project: Project, toolchain: Toolchain) -> None:
        before = sorted(project.root.rglob("*"))
        build_program(project, toolchain)
        assert sorted(project.root.rglob("*")) == before

    @pytest.mark.parametrize("confined", [False, True])
    @pytest.mark.parametrize("place", ["settings", "environment"])
    def test_a_search_path_is_used_wherever_it_is_set(
        self,
        program: Path,
        toolchain: Toolchain,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
        *,
        place: str,
        confined: bool,
    ) -> None:
        elsewhere = tmp_path_factory.mktemp("elsewhere")
        for name in ("one", "two"):
            (elsewhere / name).mkdir()
            (elsewhere / name / "which.h").write_text(f'#define WHICH "{name} of the folders"\n')
        program.write_text("#include <which.h>\nconst char* which = WHICH;\nint main() { return 0; }\n")
        for name in ("one", "two"):
            searched = {"CPATH": str(elsewhere / name)}
            if place == "environment":
                monkeypatch.setenv("CPATH", searched["CPATH"])
            config = Config(flags=["-nogpuinc"], env=searched if place == "settings" else {})
            project = resolve_project(program, config=config)
            built = build_program(project, toolchain, confined=confined)
            assert f"{name} of the folders".encode() in Path(built.argv[0]).read_bytes()

    def test_a_candidate_may_read_the_headers_above_that_the_program_reads_and_no_others(
        self, tmp_path: Path, toolchain: Toolchain
    ) -> None:
        (tmp_path / "include").mkdir()
        for name in ("shared.h", "other.h"):
            (tmp_path / "include" / name).write_text("#define STEP 2\n")
        source = tmp_path / "program" / "main.hip"
        source.parent.mkdir()
        text = '#include "../include/shared.h"\n__attribute__((global)) void k(int* p) { *p = STEP; }\nint main() {}\n'
        source.write_text(text)
        project = resolve_project(source, config=Config(flags=["-nogpuinc"]))
        compile_device(project, toolchain, source, Run())
        changed = unsaved(source, text.replace("= STEP", "= STEP + 1").encode())
        assert compile_device(project, toolchain, source, changed, confined=True).path.exists()
        curious = unsaved(source, text.replace("shared.h", "other.h").encode())
        with pytest.raises(BuildFailed, match=r"other\.h"):
            compile_device(project, toolchain, source, curious, confined=True)

    def test_flags_of_the_config_and_of_the_compilation_database_are_used(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        program.write_text("#if WANTED != 12\n#error not wanted\n#endif\n" + program.read_text())
        database = [
            {
                "directory": str(program.parent),
                "file": program.name,
                "command": "hipcc -c -DWANTED=12 -o x.o twice.hip",
            }
        ]
        with pytest.raises(BuildFailed, match="not wanted"):
            build_program(resolve_project(program), toolchain)
        (program.parent / "build").mkdir()
        (program.parent / "build" / "compile_commands.json").write_text(json.dumps(database))
        assert build_program(resolve_project(program), toolchain).code_objects
        (program.parent / "build" / "compile_commands.json").unlink()
        (program.parent / "hipscope.toml").write_text('flags = ["-DWANTED=12"]\n')
        assert build_program(resolve_project(program), toolchain).code_objects


class TestMessages:
    def test_a_syntax_error_is_the_compilers_own_message_on_its_line(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        program.write_text(program.read_text().replace("2.0f * in[i];", "2.0f * in[i]"))
        with pytest.raises(BuildFailed) as caught:
            build_program(resolve_project(program), toolchain)
        (diagnostic,) = caught.value.diagnostics
        assert (diagnostic.file, diagnostic.line, diagnostic.severity) == (str(program), 4, "error")
        assert diagnostic.message == "expected ';' after expression"
        assert caught.value.message.startswith(f"{program}:4:")
        assert caught.value.exit_code == 4
        assert caught.value.output.count("expected ';' after expression") == 1

    def test_mistakes_in_host_and_device_code_are_each_reported_once(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        text = program.read_text().replace("in[i]", "inn[i]").replace("return 0;", "return nothing;")
        program.write_text(text)
        with pytest.raises(BuildFailed) as caught:
            build_program(resolve_project(program), toolchain)
        errors = [d for d in caught.value.diagnostics if d.severity == "error"]
        assert [d.line for d in errors] == [4, 9]

    def test_a_message_in_a_header_names_the_header(self, program: Path, toolchain: Toolchain) -> None:
        (program.parent / "part.h").write_text("int x\n;;; int int y;\n")
        program.write_text('#include "part.h"\n' + program.read_text())
        with pytest.raises(BuildFailed) as caught:
            build_program(resolve_project(program), toolchain)
        assert caught.value.diagnostics[0].file == str(program.parent / "part.h")

    def test_a_missing_function_says_that_the_program_may_have_more_files(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        program.write_text(
            program.read_text().replace("int main() {", "void other();\nint main() { other();")
        )
        with pytest.raises(BuildFailed, match=r"`other\(\)` is not defined in it") as caught:
            build_program(resolve_project(program), toolchain)
        assert "hipscope.toml" in str(caught.value.hint)

    @pytest.mark.parametrize(
        "said",
        [
            "/usr/bin/ld: cannot find -lomp: No such file or directory",
            "ld.lld: error: unable to find library -lomp",
            "a.hip:1:10: fatal error: 'omp.h' file not found",
        ],
    )
    def test_a_compiler_without_openmp_is_told_by_the_package_that_brings_it(
        self, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, said: str
    ) -> None:
        monkeypatch.setattr(compiler_messages, "openmp_runtime", lambda _: None)
        failure = build_failed("a.hip", said, toolchain, returncode=1)
        assert f"apt-get install -y libomp-{toolchain.major}-dev" in str(failure.hint)

    @pytest.mark.parametrize(
        ("said", "line"),
        [
            (
                "-- x\nCMake Error at CMakeLists.txt:18 (message):\n  No MODEL, pick one from\n  the list\n\n\n-- x\n",
                "app: CMakeLists.txt:18: No MODEL, pick one from the list",
            ),
            (
                "cc -c a.c\nsh: 1: mpicc: not found\nmake[1]: *** [Makefile:3: a.o] Error 127\nmake: *** [a] Error 2\n",
                "app: the build left with status 2: sh: 1: mpicc: not found",
            ),
            (
                f"/usr/bin/ld: cannot open output file build/a: No such file or directory\n{DRIVER}",
                "app: does not link: cannot open output file build/a: No such file or directory",
            ),
            (
                f"/usr/bin/ld: b.o: in function `f':\nb.cpp:(.text+0x0): multiple definition of `f'\n{DRIVER}",
                "app: does not link: `f` is defined more than once",
            ),
            (
                f"ld.lld: error: duplicate symbol: f()\n>>> defined at a.cpp\n{DRIVER}",
                "app: does not link: duplicate symbol: f()",
            ),
            (
                "/usr/bin/ld: warning: a.o: no note\n/usr/bin/x86_64-linux-gnu-ld.bfd: lib.so: file not recognized\n",
                "app: does not link: lib.so: file not recognized",
            ),
            (DRIVER, f"app: {DRIVER.removeprefix('clang++: error: ').strip()}"),
            (
                "make: *** No rule to make target 'b.h', needed by 'a.o'.  Stop.\n",
                "app: the build left with status 2: make: *** No rule to make target 'b.h', needed by 'a.o'.  Stop.",
            ),
        ],
    )
    def test_a_build_tools_failure_is_told_by_the_line_that_says_why(
        self, toolchain: Toolchain, said: str, line: str
    ) -> None:
        assert build_failed("app", said, toolchain, returncode=2).message == line

    def test_a_program_with_openmp_builds(self, program: Path, toolchain: Toolchain) -> None:
        if openmp_runtime(toolchain) is None:
            pytest.skip("the compiler's OpenMP library is not installed")
        program.write_text("#include <omp.h>\n" + program.read_text().replace("0;", "omp_get_max_threads();"))
        settings = Config(flags=["-fopenmp"])
        assert build_program(resolve_project(program, config=settings), toolchain).argv

    def test_an_error_in_a_candidate_names_the_users_file(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        text = _text(project).replace(b"in[i]", b"inn[i]")
        with pytest.raises(BuildFailed) as caught:
            compile_device(project, toolchain, _main(project), unsaved(_main(project), text))
        assert caught.value.diagnostics[0].file == str(project.main_source)


class TestOverlay:
    def test_it_changes_what_is_compiled_and_not_what_is_on_disk(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        text = _text(project)
        wider = text.replace(b"int n)", b"long n)")
        built = build_program(project, toolchain, unsaved(_main(project), wider))
        assert code_object_metadata(built.code_objects[0])[0].symbol == "_Z5twicePKfPfl"
        assert _text(project) == text
        assert code_object_metadata(build_program(project, toolchain).code_objects[0])[0].symbol == KERNEL

    def test_a_header_can_be_replaced_while_its_neighbours_are_found(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        (program.parent / "inner.h").write_text("#define INNER 1\n")
        header = program.parent / "size.h"
        header.write_text('#include "inner.h"\n#define SIZE 16\n')
        program.write_text(
            program.read_text()
            .replace(
                "int i =",
                "__shared__ float s[SIZE * INNER]; s[threadIdx.x] = in[0]; __syncthreads(); int i =",
            )
            .replace("2.0f * in[i]", "s[n - i]")
        )
        program.write_text('#include "size.h"\n' + program.read_text())
        project = resolve_project(program)
        replaced = b'#include "inner.h"\n#define SIZE 32\n'
        built = build_program(project, toolchain)
        device = compile_device(project, toolchain, header, unsaved(header, replaced))
        assert code_object_metadata(built.code_objects[0])[0].lds == 16 * 4
        assert device.kernels[KERNEL].lds == 32 * 4
        # A candidate for the source is compiled with the header that the editor has not saved.
        candidate = unsaved(header, replaced).replacing(program, program.read_bytes() + b"// changed\n")
        assert compile_device(project, toolchain, program, candidate).kernels[KERNEL].lds == 32 * 4

    def test_a_candidate_that_was_compiled_is_not_compiled_again_for_its_program(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        text = _text(project).replace(b"2.0f", b"3.0f")
        device = compile_device(project, toolchain, _main(project), unsaved(_main(project), text))
        built = build_program(project, toolchain, unsaved(_main(project), text))
        assert built.code_objects == (device.path,)

    @pytest.mark.parametrize("text", [b"", "int main() { return 0; }".encode("utf-16")])
    def test_text_that_is_no_source_is_refused(
        self, project: Project, toolchain: Toolchain, text: bytes
    ) -> None:
        with pytest.raises(UsageError):
            compile_device(project, toolchain, _main(project), unsaved(_main(project), text))

    def test_kernels_without_a_linkage_name_keep_theirs_in_a_candidate(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        program.write_text(program.read_text().replace("__global__", "static __global__"))
        project = resolve_project(program)
        before = code_object_metadata(build_program(project, toolchain).code_objects[0])
        text = program.read_bytes().replace(b"2.0f", b"4.0f")
        after = compile_device(project, toolchain, program, unsaved(program, text))
        assert [kernel.symbol for kernel in before] == list(after.kernels)


class TestCache:
    def test_unchanged_code_is_not_built_again(self, project: Project, toolchain: Toolchain) -> None:
        first = build_program(project, toolchain)
        again = build_program(project, toolchain)
        assert (first.cached, again.cached) == (False, True)
        assert again.argv == first.argv
        assert again.compile_seconds == pytest.approx(first.compile_seconds)

    def test_what_was_built_is_found_while_another_process_builds(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        """Sixteen workers of a sweep waited for each other half of their time, each to look at what was there."""
        build_program(project, toolchain)
        locks = sorted((cache_directory() / "build" / ".locks").iterdir())
        found: list[bool] = []
        thread = threading.Thread(target=lambda: found.append(build_program(project, toolchain).cached))
        with contextlib.ExitStack() as held:
            for lock in locks:
                held.enter_context(locked(lock))
            thread.start()
            thread.join(30)
            assert found == [True]

    def test_touching_a_file_without_changing_it_builds_nothing(
        self, project: Project, toolchain: Toolchain
    ) -> None:
        build_program(project, toolchain)
        os.utime(_main(project), (1, 1))
        assert build_program(project, toolchain).cached

    def test_a_changed_header_is_seen_also_when_only_the_gpu_side_reads_it(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        header = program.parent / "gpu.h"
        header.write_text("#define FACTOR 2.0f\n")
        text = program.read_text().replace("2.0f", "FACTOR")
        program.write_text(
            '#ifdef __HIP_DEVICE_COMPILE__\n#include "gpu.h"\n#else\n#define FACTOR 0.0f\n#endif\n' + text
        )
        os.utime(header, (1, 1))
        project = resolve_project(program)
        first = build_program(project, toolchain)
        header.write_text("#define FACTOR 9.0f\n")
        os.utime(header, (1, 1))
        second = build_program(project, toolchain)
        assert not second.cached
        assert first.code_objects[0].read_bytes() != second.code_objects[0].read_bytes()
        header.write_text("#define FACTOR 2.0f\n")
        os.utime(header, (1, 1))
        third = build_program(project, toolchain)
        assert third.cached
        assert third.argv == first.argv

    def test_other_flags_are_another_build(self, program: Path, toolchain: Toolchain) -> None:
        build_program(resolve_project(program), toolchain)
        (program.parent / "hipscope.toml").write_text('flags = ["-O1"]\n')
        assert not build_program(resolve_project(program), toolchain).cached

    def test_two_builds_at_once_agree(self, project: Project, toolchain: Toolchain) -> None:
        results: list[str] = []
        threads = [
            threading.Thread(target=lambda: results.append(build_program(project, toolchain).argv[0]))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 2
        assert results[0] == results[1]

    def test_a_failed_build_leaves_nothing_in_the_cache(
        self, program: Path, toolchain: Toolchain, empty_cache: Path
    ) -> None:
        program.write_text("int main() { return nothing; }\n")
        with pytest.raises(BuildFailed):
            build_program(resolve_project(program), toolchain)
        assert _files(empty_cache / "build") == []

    def test_a_cancelled_build_stops_and_leaves_nothing(
        self, project: Project, toolchain: Toolchain, empty_cache: Path
    ) -> None:
        cancel = threading.Event()
        cancel.set()
        with pytest.raises(Cancelled):
            build_program(project, toolchain, Run(cancel))
        assert _files(empty_cache / "build") == []


def test_a_file_that_is_no_code_object_is_one_clear_line(program: Path) -> None:
    with pytest.raises(HipscopeError, match=r"twice.hip: not a code object"):
        code_object_metadata(program)
    with pytest.raises(HipscopeError, match="not an ELF file"):
        embedded_code_objects(program, "gfx942")


def test_a_plain_program_holds_no_gpu_code() -> None:
    assert embedded_code_objects(Path("/bin/sh"), "gfx942") == []


def _main(project: Project) -> Path:
    assert project.main_source is not None
    return project.main_source


def _text(project: Project) -> bytes:
    return _main(project).read_bytes()


def _files(folder: Path) -> list[Path]:
    """What is in a part of the cache; its locks are empty files that stay."""
    return [path for path in folder.rglob("*") if path.is_file() and ".locks" not in path.parts]
