#!/bin/sh
# Usage: scripts/test-versions.sh newest|oldest [PYTEST-ARGUMENTS]
# The tests with other versions of the dependencies than those of scripts/constraints.txt: the newest that pip takes today,
# or the oldest that pyproject.toml allows. Each has an environment of its own under build; the set-up's is left as it is.
set -eu
cd "$(dirname "$0")/.."
which=$1
shift
environment=build/versions/$which
mkdir -p build/versions
.venv/bin/python - "$which" >"$environment.txt" <<'END'
import re, sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
wanted = project["dependencies"] + project["optional-dependencies"]["llm"]
if sys.argv[1] == "oldest":
    print(*(re.sub(r"[>,].*", "", name) + "==" + re.search(r">=([\w.]+)", name)[1] for name in wanted), sep="\n")
elif sys.argv[1] != "newest":
    sys.exit("hipscope: test-versions.sh takes newest or oldest")
END
[ -x "$environment/bin/python" ] || .venv/bin/python -m venv "$environment"
"$environment/bin/python" -m pip install -q --disable-pip-version-check --upgrade --upgrade-strategy eager \
    -c "$environment.txt" -e '.[dev,llm]' --config-settings=wheel.cmake=false >"$environment.log" 2>&1 ||
    { cat "$environment.log" >&2; exit 4; }
exec "$environment/bin/python" -m pytest -n auto --dist loadfile -m "not slow" "$@"
