#!/bin/sh
# Usage: scripts/build-wheel.sh [FOLDER]
# The source distribution and, from it, the wheel in FOLDER (dist). Takes the set-up's .venv for its tools; pip builds the
# wheel in an environment of its own. The wheel's name says for which systems it is: the oldest C library that it runs with.
# With HIPSCOPE_WHEEL_OLD=1 its native parts are compiled by zig for one of 2018, and a part that asks for a newer one is
# refused. Such a wheel runs on Debian 11 and Ubuntu 22.04, but its emulator is slower (docs/debugging.md).
set -eu
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
python=$PWD/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
oldest=2.28
zig=ziglang==0.17.1

say() { printf 'hipscope: %s\n' "$*" >&2; }

"$python" -c '
import sys
from scikit_build_core.build import build_sdist
build_sdist(sys.argv[1])
' "$work" </dev/null >"$work/sdist.log" 2>&1 || { cat "$work/sdist.log" >&2; exit 4; }
source=$(ls "$work"/*.tar.gz)
if [ -n "${HIPSCOPE_WHEEL_OLD:-}" ]; then
    say "installing zig, whose compiler knows old C libraries (0.1 GB to download)"
    "$python" -m pip install -q --disable-pip-version-check --target "$work/tools" \
        "$zig" </dev/null >"$work/zig.log" 2>&1 || { cat "$work/zig.log" >&2; exit 4; }
    export HIPSCOPE_ZIG="$work/tools/ziglang/zig" CXX="$PWD/scripts/old-glibc-c++"
    export ZIG_GLOBAL_CACHE_DIR="$work/zig" ZIG_LOCAL_CACHE_DIR="$work/zig"
    # Never the system's folder of headers, which are those of its own C library: the few that are needed lie beside it.
    mkdir "$work/include"
    for header in $(printf '#include <zstd.h>\n' | c++ -E -x c++ - | sed -n 's/^# [0-9]* "\(.*zstd[^"]*\)".*/\1/p' | sort -u); do
        ln -s "$header" "$work/include"
    done
    hsa=$(printf '#include <hsa/hsa_api_trace.h>\n' | c++ -E -x c++ - 2>/dev/null |
        sed -n 's|^# [0-9]* "\(.*/hsa\)/hsa_api_trace.h".*|\1|p' | head -n 1)
    [ -z "$hsa" ] || ln -s "$hsa" "$work/include/hsa"
    found="-DHIPSCOPE_ZSTD_INCLUDE=$work/include -DHIPSCOPE_ZSTD_LIBRARY=$(c++ -print-file-name=libzstd.a)"
    export CMAKE_ARGS="${CMAKE_ARGS:-} $found ${hsa:+-DHIPSCOPE_HSA_INCLUDE=$work/include}"
fi
say "compiling the wheel from $(basename "$source") (about ten minutes on two cores without ccache)"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work" "$source" </dev/null >"$work/wheel.log" 2>&1 ||
    { cat "$work/wheel.log" >&2; exit 4; }
if [ -n "${HIPSCOPE_WHEEL_OLD:-}" ]; then
    "$python" scripts/needed_glibc.py "$oldest" "$work"/*.whl || exit 4
fi
rm -f "$folder"/hipscope-*.whl "$folder"/hipscope-*.tar.gz
# Nothing has to be copied into the wheel, so it is only renamed; where auditwheel does not run, it keeps `linux`.
if PATH=$PWD/.venv/bin:$PATH "$python" -m auditwheel repair -w "$work/renamed" "$work"/*.whl >"$work/repair.log" 2>&1; then
    mv "$work"/renamed/*.whl "$folder"
else
    say "auditwheel could not name the platform: $(tail -n 1 "$work/repair.log")"
    mv "$work"/*.whl "$folder"
fi
mv "$source" "$folder"
ls "$folder"/hipscope-*
