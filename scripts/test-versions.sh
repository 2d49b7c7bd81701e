#!/bin/sh
# Usage: scripts/test-versions.sh newest|oldest [PYTEST-ARGUMENTS]
# The tests with other versions of the dependencies than those of scripts/constraints.txt: the newest that pip takes today,
# or the oldest that pyproject.toml allows. Each has an environment of its own under build; the set-up's is left as it is.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
newest | oldest) environment=build/versions/$1 ;;
*) echo "hipscope: test-versions.sh takes newest or oldest" >&2 && exit 3 ;;
esac
wanted=$1
shift
mkdir -p build/versions
[ -x "$environment/bin/python" ] || .venv/bin/python -m venv "$environment"
: >"$environment.txt"
if [ "$wanted" = oldest ]; then
    # pip has no way to ask for the oldest versions that fit together.
    "$environment/bin/python" -m pip install -q --disable-pip-version-check uv >"$environment.log" 2>&1 &&
        "$environment/bin/uv" pip compile -q --resolution lowest-direct --extra llm --extra agent --extra report --extra history --extra scale --python "$environment/bin/python" \
            -o "$environment.txt" pyproject.toml >"$environment.log" 2>&1 || { cat "$environment.log" >&2 && exit 4; }
fi
"$environment/bin/python" -m pip install -q --disable-pip-version-check --upgrade --upgrade-strategy eager \
    -c "$environment.txt" -e '.[dev,llm,history,scale]' --config-settings=wheel.cmake=false >"$environment.log" 2>&1 ||
    { cat "$environment.log" >&2 && exit 4; }
exec "$environment/bin/python" -m pytest -n auto --dist loadfile -m "not slow" "$@"
