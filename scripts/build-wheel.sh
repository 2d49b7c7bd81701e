#!/bin/sh
# Usage: scripts/build-wheel.sh [FOLDER]
# The source distribution and the wheel in FOLDER (dist). Takes the native parts of build/native, which the set-up makes as a
# wheel has them: for every x86-64, linked for a C library of 2018 (old_glibc.py), so that it runs on RHEL 8, Debian 11,
# Ubuntu 22.04 and all that is newer. A part that asks for more is refused.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh wheel
folder=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
python=$PWD/.venv/bin/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'hipscope: %s\n' "$*" >&2; }
quietly() { "$@" </dev/null >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 4; }; }

quietly "$python" -c 'import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])' "$work"
PATH=$PWD/.venv/bin:$PATH quietly "$python" -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation \
    "--config-settings=build-dir=$PWD/build/native" -w "$work" .
"$python" scripts/needed_glibc.py 2.28 "$work"/*.whl || exit 4
rm -f "$folder"/hipscope-*.whl "$folder"/hipscope-*.tar.gz
# Nothing has to be copied into the wheel, so it is only renamed; where auditwheel does not run, it keeps `linux`.
if PATH=$PWD/.venv/bin:$PATH "$python" -m auditwheel repair -w "$work/renamed" "$work"/*.whl >"$work/repair.log" 2>&1; then
    mv "$work"/renamed/*.whl "$folder"
else
    say "auditwheel could not name the platform: $(tail -n 1 "$work/repair.log")"
    mv "$work"/*.whl "$folder"
fi
mv "$work"/*.tar.gz "$folder"
ls "$folder"/hipscope-*
