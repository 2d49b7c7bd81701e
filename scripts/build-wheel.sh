#!/bin/sh
# Usage: scripts/build-wheel.sh [FOLDER]
# The source distribution and, from it, the wheel in FOLDER (dist). Takes the set-up's .venv for its tools; pip builds the
# wheel in an environment of its own. The wheel's name says for which systems it is: the oldest C library that it runs with.
set -eu
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
python=$PWD/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'hipscope: %s\n' "$*" >&2; }

"$python" -c '
import sys
from scikit_build_core.build import build_sdist
build_sdist(sys.argv[1])
' "$work" </dev/null >"$work/sdist.log" 2>&1 || { cat "$work/sdist.log" >&2; exit 4; }
source=$(ls "$work"/*.tar.gz)
say "compiling the wheel from $(basename "$source") (about ten minutes on two cores without ccache)"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work" "$source" </dev/null >"$work/wheel.log" 2>&1 ||
    { cat "$work/wheel.log" >&2; exit 4; }
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
