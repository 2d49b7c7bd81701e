"""Programs that a build command of the project makes."""

import itertools
import os
import re
import textwrap
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import run_process
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.toolchain.build import build_program, compile_device
from hipscope.analysis.toolchain.code_object import (
    embedded_code_objects,
    gpu_images,
)
from hipscope.analysis.toolchain.command_build import build_in_tree
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.analysis.conftest import PROGRAM
from tests.plain_hip import PLAIN_HIP
from tests.unsaved import unsaved

KERNEL = "_Z5twicePKfPfi"
INCLUDE = "#include <hip/hip_runtime.h>\n"


def debug_files(code_object: Path, toolchain: Toolchain) -> str:
    return run_process([toolchain.bin / "llvm-dwarfdump", "--debug-line", code_object], timeout=30).text


class TestBuildCommand:
    @pytest.fixture
    def program(self, program: Path) -> Path:
        """The program without HIP's headers: it is compiled with -nogpuinc."""
        program.write_text(PROGRAM.replace(INCLUDE, PLAIN_HIP))
        return program

    @pytest.fixture
    def made(self, tmp_path: Path, program: Path) -> Path:
        """A project of two files and a Makefile, with an old object file in the user's tree."""
        root = program.parent
        (root / "scale.h").write_text("#define SCALE 2.0f\nint other();\n")
        program.write_text(
            '#include "scale.h"\n'
            + program.read_text().replace("2.0f", "SCALE").replace("return 0", "return other()")
        )
        (root / "other.cpp").write_text('#include "scale.h"\nint other() { return 5; }\n')
        (root / "twice.o").write_text("an old object file")
        (root / "Makefile").write_text(
            textwrap.dedent("""\
                app: twice.o other.o
                \thipcc -o $@ $^
                %.o: %.hip scale.h
                \thipcc -nogpuinc --offload-arch=gfx90a -c -o $@ $<
                %.o: %.cpp scale.h
                \thipcc -nogpuinc -c -o $@ $<
            """)
        )
        (root / "hipscope.toml").write_text('build = "make"\nrun = "./app one"\n')
        return root

    def test_make_builds_in_a_copy_and_the_users_tree_stays_as_it_is(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
        built = build_program(resolve_project(made, ["two words"]), toolchain)
        assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before
        assert built.argv == ("/bin/sh", "-c", "./app 'two words'")
        (image,) = embedded_code_objects(built.directory / "app", "gfx942")
        code_object = made.parent / "app.co"
        code_object.write_bytes(image)
        assert f'"{made}' in debug_files(code_object, toolchain)

    @pytest.mark.parametrize(("short_s", "kept"), [(60.0, True), (0.0, False)])
    def test_what_a_candidate_is_held_against_stays_built_beside_it(
        self, made: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, short_s: float, *, kept: bool
    ) -> None:
        """That is an earlier candidate from the second round on. A long build is not made twice for it."""
        (made / "hipscope.toml").write_text('build = "cp twice.hip app"\nrun = "./app"\n')
        monkeypatch.setattr("hipscope.analysis.toolchain.command_build._SHORT_S", short_s)
        project, source = resolve_project(made), made / "twice.hip"

        def built(text: bytes) -> tuple[bool, bytes]:
            tree = build_in_tree(project, toolchain, unsaved(source, text))
            return tree.cached, (tree.start / "app").read_bytes()

        build_in_tree(project, toolchain, Run())
        accepted, first, second = b"// accepted", b"// first", b"// second"
        assert built(accepted) == (False, accepted)
        assert built(first) == (False, first)
        assert built(accepted) == (kept, accepted)
        assert built(second) == (False, second)
        assert built(accepted) == (kept, accepted)

    @pytest.mark.parametrize("include", ['"scale.h"', '"inner.h"'])
    def test_a_header_is_compiled_with_a_source_that_the_build_compiles(
        self, made: Path, toolchain: Toolchain, include: str
    ) -> None:
        (made / "another.hip").write_text('#include "scale.h"\nnot a program at all\n')
        (made / "inner.h").write_text('#include "scale.h"\n')
        twice = made / "twice.hip"
        twice.write_text(twice.read_text().replace('"scale.h"', include))
        (made / "other.cpp").write_text("int other() { return 5; }\n")
        project = resolve_project(made)
        build_program(project, toolchain)
        header = made / "scale.h"
        assert compile_device(project, toolchain, header, Run()).kernels
        changed = unsaved(header, header.read_bytes().replace(b"2.0f", b"3.0f"))
        assert compile_device(project, toolchain, header, changed).kernels

    def test_a_build_that_reads_folders_beside_the_project_is_told_how_to_name_them(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        beside = made.parent / "common"
        beside.mkdir()
        (made / "scale.h").rename(beside / "scale.h")
        makefile = made / "Makefile"
        makefile.write_text(
            "app: twice.hip other.cpp ../common/scale.h\n\thipcc -nogpuinc -I../common -o $@ twice.hip other.cpp\n"
        )
        with pytest.raises(BuildFailed) as told:
            build_program(resolve_project(made), toolchain)
        line = 'source_dirs = [".", "../common"]'
        assert told.value.hint is not None
        assert told.value.hint.endswith(line)
        settings = made / "hipscope.toml"
        settings.write_text(f"{settings.read_text()}\n{line}\n")
        build_program(resolve_project(made), toolchain)
        source = made / "twice.hip"
        source.write_text(source.read_text().replace("SCALE", "UNKNOWN"))
        with pytest.raises(BuildFailed, match="undeclared identifier 'UNKNOWN'"):
            build_program(resolve_project(made), toolchain)

    def test_gpu_code_of_several_files_is_linked_for_one_of_them(
        self, tmp_path: Path, toolchain: Toolchain
    ) -> None:
        """With `-fgpu-rdc`; a second program of the build defines a name of the first one, too."""
        kernel = tmp_path / "kernel.hip"
        kernel.write_text(
            f"{PLAIN_HIP}__device__ float part(float x);\n"
            "__global__ void twice(float* p) { p[threadIdx.x] = part(p[threadIdx.x]); }\n"
            "int main() { twice<<<1, 64>>>(nullptr); }\n"
        )
        (tmp_path / "part.hip").write_text(
            PLAIN_HIP + "__device__ float part(float x) { return 2.0f * x; }\n"
        )
        (tmp_path / "second.hip").write_text(
            PLAIN_HIP + "__device__ float part(float x) { return x; }\nint main() { return 0; }\n"
        )
        (tmp_path / "Makefile").write_text(
            "all: app second\napp: kernel.o part.o\n\thipcc -fgpu-rdc --hip-link $^ -o $@\n"
            "second: second.o\n\thipcc -fgpu-rdc --hip-link $^ -o $@\n"
            "%.o: %.hip\n\thipcc -nogpuinc -fgpu-rdc -c $< -o $@\n"
        )
        (tmp_path / "hipscope.toml").write_text('build = "make app"\nrun = "./app"\n')
        project = resolve_project(tmp_path)
        alone = compile_device(project, toolchain, kernel, Run())
        assert [k.symbol for k in alone.kernels.values()] == ["_Z5twicePf"]
        other = unsaved(tmp_path / "part.hip", (tmp_path / "part.hip").read_bytes().replace(b"2.0f", b"3.0f"))
        assert compile_device(project, toolchain, kernel, other, confined=True).path != alone.path
        (tmp_path / "hipscope.toml").write_text('build = "make"\nrun = "./app"\n')
        both = compile_device(resolve_project(tmp_path), toolchain, kernel, Run())
        assert list(both.kernels) == ["_Z5twicePf"]

    @pytest.fixture
    def spread(self, tmp_path: Path) -> Path:
        """A program in one of two folders, kernels in a header and in a `.cu` that are included, and a CUDA twin."""
        root = tmp_path / "spread"
        for folder in ("hip", "cuda", "shared dir"):
            (root / folder).mkdir(parents=True)
        kernel = "__global__ void {}(float* p) {{ p[threadIdx.x] += SCALE; }}\n"
        (root / "shared dir" / "kernel.h").write_text(kernel.format("first"))
        (root / "shared dir" / "more.cu").write_text(kernel.format("second"))
        launches = "int main() { first<<<1, 64>>>(nullptr); second<<<1, 64>>>(nullptr); }\n"
        included = '#include "../shared dir/kernel.h"\n#include "../shared dir/more.cu"\n'
        (root / "cuda" / "main.cu").write_text("#include <cuda_runtime.h>\n" + included + launches)
        (root / "hip" / "main.hip").write_text(PLAIN_HIP + included + launches)
        (root / "Makefile").write_text("app: hip/main.hip\n\thipcc -nogpuinc -MMD -DSCALE=3 -o $@ $<\n")
        (root / "hipscope.toml").write_text('build = "make"\nrun = "./app"\n')
        return root

    def test_only_what_the_build_compiled_and_what_that_included_is_the_program(
        self, spread: Path, toolchain: Toolchain
    ) -> None:
        project = resolve_project(spread)
        assert spread / "cuda" / "main.cu" in project.sources  # as long as nothing was built
        built = build_program(project, toolchain)
        narrowed = built.narrowed(project)
        shared = [spread / "shared dir" / name for name in ("kernel.h", "more.cu")]
        assert narrowed.sources == (spread / "hip" / "main.hip", *shared)
        assert narrowed.headers == tuple(shared)
        depfile = next(built.directory.glob("*.d")).read_text()
        assert "kernel.h" in depfile
        assert "/usr/" not in depfile
        assert build_program(project, toolchain).narrowed(project) == narrowed

    @pytest.mark.parametrize("saved", [True, False])
    @pytest.mark.parametrize("linked", [True, False])
    def test_a_header_that_the_makefile_does_not_name_is_built_when_it_changes(
        self, spread: Path, toolchain: Toolchain, saved: bool, linked: bool
    ) -> None:
        header, main = spread / "shared dir" / "kernel.h", spread / "hip" / "main.hip"
        if linked:
            (spread / "hip" / "kernel.h").symlink_to("../shared dir/kernel.h")
            main.write_text(main.read_text().replace("../shared dir/kernel.h", "kernel.h"))
        project, images = resolve_project(spread), []
        for number in (b"4", b"5", b"5", b"6"):
            text = re.sub(rb"SCALE.*;", b"SCALE * %s;" % number, header.read_bytes())
            if saved:
                header.write_bytes(text)
            run = Run() if saved else unsaved(header, text)
            built = build_program(project, toolchain, run)
            images += embedded_code_objects(built.directory / "app", "gfx942")
        assert len(images) == 4
        assert [first == second for first, second in itertools.pairwise(images)] == [False, True, False]

    @pytest.mark.parametrize("name", ["kernel.h", "more.cu"])
    def test_a_file_that_is_included_is_compiled_as_the_build_did_it_whatever_its_name(
        self, spread: Path, toolchain: Toolchain, name: str
    ) -> None:
        file = spread / "shared dir" / name
        text = file.read_bytes().replace(b"SCALE", b"SCALE + 1")
        code = compile_device(resolve_project(spread), toolchain, file, unsaved(file, text))
        assert sorted(code.kernels) == ["_Z5firstPf", "_Z6secondPf"]

    def test_a_file_that_the_build_did_not_compile_is_named_with_what_it_did(
        self, spread: Path, toolchain: Toolchain
    ) -> None:
        with pytest.raises(UsageError) as caught:
            compile_device(resolve_project(spread), toolchain, spread / "cuda" / "main.cu", Run())
        assert "neither this file nor one that includes it" in caught.value.message
        assert "main.hip" in str(caught.value.hint)

    def test_a_file_with_kernels_that_the_build_leaves_out_is_not_taken_for_its_program(
        self, spread: Path, toolchain: Toolchain
    ) -> None:
        with pytest.raises(UsageError, match=r"main\.cu: .* neither this file nor one that includes it"):
            build_program(resolve_project(spread / "cuda" / "main.cu"), toolchain)
        for name in ("hip/main.hip", "shared dir/kernel.h"):
            assert build_program(resolve_project(spread / name), toolchain).units

    def test_variables_of_the_settings_stand_behind_what_the_build_needs(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        text = (made / "Makefile").read_text()
        (made / "Makefile").write_text(f"show: app\n\tenv > seen\n{text}")
        given = {
            "PATH": f"/of/the/settings:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": "/of/the:/settings",
            "C_INCLUDE_PATH": "/of/c",
            "CPLUS_INCLUDE_PATH": "/of/c++",
            "HIPCC_COMPILE_FLAGS_APPEND": "-DONE",
            "HIPCXX": "clang++ -DTWO",
        }
        built = build_program(
            resolve_project(made, config=Config(build="make show", run="./app", env=given)), toolchain
        )
        lines = (line.split("=", 1) for line in (built.directory / "seen").read_text().splitlines())
        seen = dict(words for words in lines if len(words) == 2)
        assert seen["PATH"].endswith(f":{given['PATH']}")
        stand_ins = f":{toolchain.library_dirs[-1]}"  # behind all that is installed
        assert seen["LD_LIBRARY_PATH"].removesuffix(stand_ins).endswith(f":{given['LD_LIBRARY_PATH']}")
        for name in ("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"):
            assert seen[name].split(":")[-1] == given[name]
        assert seen["HIPCC_COMPILE_FLAGS_APPEND"].startswith("-DONE ")
        assert seen["HIPCXX"].endswith("/clang++ -DTWO")

    def test_flags_in_a_variable_that_names_the_compiler_are_kept(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        makefile = (made / "Makefile").read_text().replace("\thipcc", "\t$(HIPCC)").replace("SCALE", "")
        (made / "Makefile").write_text(makefile)
        (made / "scale.h").write_text("int other();\n")
        settings = Config(build="make", run="./app", env={"HIPCC": "hipcc -DSCALE=2.0f"})
        built = build_program(resolve_project(made, config=settings), toolchain)
        assert (built.directory / "app").exists()

    @pytest.mark.parametrize("compiler", ["g++", "clang++"])
    def test_host_code_that_no_wrapper_compiles_finds_newer_headers_too(
        self, made: Path, toolchain: Toolchain, compiler: str
    ) -> None:
        (made / "other.cpp").write_text(
            "#include <hip/hip_fp8.h>\n"
            "int other() { hipDeviceProp_tR0600 p; return hipGetDevicePropertiesR0600(&p, 0) != hipSuccess; }\n"
        )
        text = (made / "Makefile").read_text()
        host = "hipcc -nogpuinc -c -o $@ $<\n"
        assert text.endswith(host)
        (made / "Makefile").write_text(
            text.removesuffix(host) + f"{compiler} -std=c++17 -D__HIP_PLATFORM_AMD__ -c -o $@ $<\n"
        )
        built = build_program(resolve_project(made), toolchain)
        assert (built.directory / "other.o").exists()

    def test_a_code_object_that_hipcc_makes_by_itself_is_built(
        self, program: Path, toolchain: Toolchain
    ) -> None:
        """`--genco` is an option of hipcc alone: no clang knows it."""
        root = program.parent
        (root / "module.hip").write_text(
            f'{PLAIN_HIP}extern "C" __global__ void one(float* p) {{ p[threadIdx.x] = 1; }}\n'
        )
        program.write_text("int main() { return 0; }\n")
        settings = Config(
            build=f"hipcc -nogpuinc --genco -o module.co module.hip && hipcc -nogpuinc {program.name} -o app",
            run="./app",
        )
        built = build_program(resolve_project(root, config=settings), toolchain)
        (tmp,) = gpu_images(built.directory / "module.co", toolchain.offload_bundler)
        assert b"_Z" not in tmp[1][:4]
        assert b"one.kd" in tmp[1]

    @pytest.mark.parametrize(
        "link",
        ["hipcc -fgpu-rdc", "clang++ --hip-link -fgpu-rdc --offload-arch=gfx90a"],
        ids=["hipcc", "clang++"],
    )
    def test_relocatable_code_in_a_static_library_is_linked(
        self, program: Path, toolchain: Toolchain, link: str
    ) -> None:
        root = program.parent
        program.write_text(
            f"{PLAIN_HIP}__device__ float twice(float);\n"
            "__global__ void all(float* p) { p[threadIdx.x] = twice(p[threadIdx.x]); }\n"
            "int main() { all<<<1, 64>>>(nullptr); }\n"
        )
        (root / "part.hip").write_text("__attribute__((device)) float twice(float x) { return 2 * x; }\n")
        (root / "Makefile").write_text(
            f"app: {program.stem}.o libpart.a\n\t{link} $^ -o $@\n"
            "libpart.a: part.o\n\tar rcs $@ $^\n"
            "%.o: %.hip\n\thipcc -nogpuinc -fgpu-rdc -c -o $@ $<\n"
        )
        (root / "hipscope.toml").write_text('build = "make"\nrun = "./app"\n')
        built = build_program(resolve_project(root), toolchain)
        (image,) = embedded_code_objects(built.directory / "app", "gfx942")
        assert b"_Z3allPf.kd" in image

    def test_a_cache_below_the_project_is_no_part_of_the_copy(
        self, made: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(made / "cache"))
        project = resolve_project(made)
        for _ in range(2):
            built = build_program(project, toolchain)
        assert built.cached
        assert built.directory.is_relative_to(made / "cache" / "hipscope")
        assert not (built.directory / "cache").exists()

    def test_it_is_not_built_again_until_something_changes(self, made: Path, toolchain: Toolchain) -> None:
        project = resolve_project(made)
        assert not build_program(project, toolchain).cached
        assert build_program(project, toolchain).cached
        (made / "other.cpp").write_text('#include "scale.h"\nint other() { return 6; }\n')
        changed = build_program(project, toolchain)
        assert not changed.cached
        assert "other.cpp" in changed.output
        assert "twice.hip" not in changed.output

    def test_a_candidate_is_built_beside_the_original(self, made: Path, toolchain: Toolchain) -> None:
        project = resolve_project(made)
        base = build_program(project, toolchain)
        source = made / "other.cpp"
        overlay = unsaved(source, source.read_bytes().replace(b"5", b"7"))
        candidate = build_program(project, toolchain, overlay)
        assert candidate.directory != base.directory
        assert b"return 7" in (candidate.directory / "other.cpp").read_bytes()
        assert b"return 5" in source.read_bytes()
        assert build_program(project, toolchain).cached
        other = build_program(project, toolchain, unsaved(source, source.read_bytes().replace(b"5", b"8")))
        assert b"return 8" in (other.directory / "other.cpp").read_bytes()

    def test_a_candidate_is_built_confined_whatever_is_on_the_search_path(
        self, made: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What lies beside `/bin` is all of the machine, and beside `~/bin` all that is the user's."""
        monkeypatch.setenv("HOME", str(made.parent))
        (made.parent / "bin").mkdir()
        secret = made.parent / "secret"
        secret.write_text("hidden")
        monkeypatch.setenv("PATH", f"{made.parent}/bin:{os.environ['PATH']}:/bin")
        (made / "Makefile").write_text(
            f"show: app\n\tcat {secret} > shown; true\n" + (made / "Makefile").read_text()
        )
        project = resolve_project(made)
        source = made / "other.cpp"
        overlay = unsaved(source, source.read_bytes().replace(b"5", b"7"))
        candidate = build_program(project, toolchain, overlay, confined=True)
        assert (candidate.directory / "app").exists()
        if isolation() != "limits":
            assert (candidate.directory / "shown").read_text() == ""

    def test_comments_in_another_encoding_are_the_compilers_affair(
        self, tmp_path: Path, toolchain: Toolchain
    ) -> None:
        source = tmp_path / "main.hip"
        source.write_bytes(
            b"// \xa9 2020\n" + PLAIN_HIP.encode() + b"__global__ void k(int* x) { *x = 1; }\nint main() {}\n"
        )
        config = Config(build="hipcc -nogpuinc -c main.hip -o main.o", run="true")
        project = resolve_project(tmp_path, config=config)
        assert compile_device(project, toolchain, source, Run()).kernels

    def test_a_confined_build_links_with_the_same_runtime(self, tmp_path: Path, toolchain: Toolchain) -> None:
        source = tmp_path / "main.hip"
        source.write_text(
            "#include <hip/hip_runtime.h>\n"
            "int main() { hipDeviceProp_t p; return hipGetDeviceProperties(&p, 0) != hipSuccess; }\n"
        )
        config = Config(build="hipcc -w main.hip -o main", run="./main")
        project = resolve_project(tmp_path, config=config)
        changed = unsaved(source, source.read_bytes() + b"// changed\n")
        built = build_program(project, toolchain, changed, confined=True)
        assert (built.directory / "main").exists()

    def test_a_build_may_run_the_program(self, tmp_path: Path, toolchain: Toolchain) -> None:
        """Makefiles of samples often do it in their first target."""
        if toolchain.rocm_path is not None:
            pytest.skip("with ROCm, programs run on its GPU")
        source = tmp_path / "main.hip"
        source.write_text(
            "#include <hip/hip_runtime.h>\n__global__ void put(int* p) { *p = 7; }\n"
            "int main() { int *p, v = 0; if (hipMalloc(&p, 4)) return 1; put<<<1, 1>>>(p);\n"
            "  return hipMemcpy(&v, p, 4, hipMemcpyDeviceToHost) != hipSuccess || v != 7; }\n"
        )
        (tmp_path / "Makefile").write_text("test: main\n\t./main\nmain: main.hip\n\thipcc $< -o $@\n")
        project = resolve_project(tmp_path, config=Config(build="make", run="./main"))
        assert (build_program(project, toolchain).directory / "main").exists()
        changed = unsaved(source, source.read_bytes() + b"// changed\n")
        assert (build_program(project, toolchain, changed, confined=True).directory / "main").exists()

    def test_a_confined_build_finds_the_headers_that_our_own_environment_names(
        self,
        made: Path,
        toolchain: Toolchain,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """As `module load` sets it on clusters, for the libraries of a ROCm that lies anywhere."""
        library = tmp_path_factory.mktemp("library")
        (library / "only_there.h").write_text("#define FIVE 5\n")
        monkeypatch.setenv("CPATH", str(library))
        source = made / "other.cpp"
        source.write_text("#include <only_there.h>\n" + source.read_text().replace("5", "FIVE"))
        changed = unsaved(source, source.read_bytes() + b"// changed\n")
        candidate = build_program(resolve_project(made), toolchain, changed, confined=True)
        assert (candidate.directory / "app").exists()

    def test_the_gpu_side_of_one_file_compiles_with_the_flags_of_the_build(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        makefile = (made / "Makefile").read_text().replace("-c -o", "-DSHIFT=3 -c -o")
        (made / "Makefile").write_text(makefile)
        source = made / "twice.hip"
        source.write_text(source.read_text().replace("in[i]", "in[i + SHIFT]"))
        project = resolve_project(made)
        text = source.read_bytes().replace(b"SCALE *", b"5.0f *")
        code = compile_device(project, toolchain, source, unsaved(source, text))
        assert list(code.kernels) == [KERNEL]
        assert f'"{source}"' in debug_files(code.path, toolchain).replace(str(made / "./"), str(made))

    def test_an_error_names_the_users_file(self, made: Path, toolchain: Toolchain) -> None:
        (made / "other.cpp").write_text("int other() { return nothing; }\n")
        with pytest.raises(BuildFailed) as caught:
            build_program(resolve_project(made), toolchain)
        assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == (
            str(made / "other.cpp"),
            1,
        )

    def test_a_build_without_compiler_messages_says_how_it_ended(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        (made / "hipscope.toml").write_text('build = "echo out of luck; exit 9"\nrun = "./app"\n')
        with pytest.raises(BuildFailed, match="left with status 9: out of luck"):
            build_program(resolve_project(made), toolchain)

    def test_a_build_that_takes_too_long_is_ended(self, made: Path, toolchain: Toolchain) -> None:
        (made / "hipscope.toml").write_text('build = "sleep 100"\nrun = "./app"\nbuild_timeout_s = 0.5\n')
        with pytest.raises(BuildFailed, match=r"took longer than 0\.5 s"):
            build_program(resolve_project(made), toolchain)

    def test_deleted_and_new_files_are_followed(self, made: Path, toolchain: Toolchain) -> None:
        (made / "hipscope.toml").write_text('build = "ls > list"\nrun = "cat list"\n')
        project = resolve_project(made)
        build_program(project, toolchain)
        (made / "other.cpp").unlink()
        (made / "new.txt").write_text("new")
        listed = (build_program(project, toolchain).directory / "list").read_text()
        assert "new.txt" in listed
        assert "other.cpp" not in listed

    @pytest.mark.slow
    def test_cmake_builds_too(self, made: Path, toolchain: Toolchain) -> None:
        (made / "twice.hip").rename(made / "twice.cpp")
        (made / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.21)\nproject(p LANGUAGES CXX)\nadd_executable(app twice.cpp other.cpp)\n"
        )
        command = "CXXFLAGS=-nogpuinc CXX=hipcc cmake -S . -B out -G Ninja && cmake --build out"
        (made / "hipscope.toml").write_text(f'build = "{command}"\nrun = "out/app"\n')
        project = resolve_project(made)
        built = build_program(project, toolchain)
        (original,) = embedded_code_objects(built.directory / "out" / "app", "gfx942")
        header = made / "scale.h"
        changed = build_program(
            project, toolchain, unsaved(header, header.read_bytes().replace(b"2.0f", b"3.0f"))
        )
        (candidate,) = embedded_code_objects(changed.directory / "out" / "app", "gfx942")
        assert original != candidate

    def test_links_inside_the_tree_stay_links_and_others_lead_out_of_the_copy(
        self, made: Path, toolchain: Toolchain
    ) -> None:
        outside = made.parent / "data.txt"
        outside.write_text("data")
        (made / "inside").symlink_to("other.cpp")
        (made / "loop").symlink_to(".")
        (made / "outside").symlink_to("../data.txt")
        (made / "hipscope.toml").write_text('build = "cat outside inside > list"\nrun = "cat list"\n')
        tree = build_program(resolve_project(made), toolchain).directory
        assert (tree / "list").read_text().startswith("data#include")
        assert (tree / "inside").resolve() == tree / "other.cpp"
