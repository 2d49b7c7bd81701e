#!/bin/sh
# Usage: scripts/test-wheel.sh WHEEL [PYTHON]
# Installs the wheel into a new environment of PYTHON (python3) as a user does and uses it there: doctor, every name of the
# runtime, a profile, a rewrite that is proved, and what its extras are for. Then uninstalls it and looks whether something
# stays behind.
set -eu
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
python=${2:-python3}
demo=$(cd "$(dirname "$0")/.." && pwd)/examples/lds_column_read.hip
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" XDG_STATE_HOME="$work/state"
cd "$work"

say() { printf 'hipscope: %s\n' "$*" >&2; }
files() { find venv -type f -o -type l | grep -v -e __pycache__ | LC_ALL=C sort; }

# without EXTRA COMMAND...: the command ends with status 3 and names the extra.
without() {
    extra=$1
    shift
    status=0
    "$@" </dev/null >without.txt 2>&1 || status=$?
    [ "$status" = 3 ] && grep -q "the extra .$extra." without.txt ||
        { cat without.txt; say "$* does not name its extra"; exit 1; }
}

"$python" -m venv venv
cp "$demo" demo.hip
# What it needs comes first, so that nothing but the wheel lies between the two lists.
venv/bin/python -m pip install -q --disable-pip-version-check "$wheel" </dev/null
without report venv/bin/hipscope profile --format html -o page.html demo.hip
without history venv/bin/hipscope history -o times.parquet
without history venv/bin/hipscope history --importance
without agent venv/bin/hipscope mcp
echo 'programs = ["demo.hip"]' >sweep.toml
without scale venv/bin/hipscope sweep sweep.toml -o rows.csv
venv/bin/python -m pip install -q --disable-pip-version-check "$wheel[report,history,agent,scale]" </dev/null
venv/bin/python -m pip uninstall -q -y hipscope </dev/null
files >before
venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-index "$wheel" </dev/null

venv/bin/hipscope --version
venv/bin/hipscope doctor >doctor.txt || { cat doctor.txt; say "doctor says that something is missing"; exit 1; }
venv/bin/python -I - <<'END'
import ctypes, os
from hipscope.emulator.runner import native_library_dir
for name, function in (("libamdhip64.so", "hipMalloc"), ("libhiprtc.so", "hiprtcCompileProgram")):
    for version in ("", ".5", ".6", ".7"):
        getattr(ctypes.CDLL(os.path.join(native_library_dir(), name + version)), function)
END
venv/bin/hipscope profile --format html -o page.html demo.hip
venv/bin/hipscope history -o times.parquet
venv/bin/hipscope history -o history.html
venv/bin/hipscope history --importance | grep -q 'from 8 on'
venv/bin/hipscope mcp </dev/null
venv/bin/hipscope sweep sweep.toml --workers 1 -o rows.csv
grep -q smooth_transpose rows.csv
venv/bin/python -I -c 'import pandas; assert "smooth_transpose" in str(pandas.read_parquet("times.parquet")["kernel"][0])'
[ -s page.html ] && grep -q smooth_transpose history.html
venv/bin/hipscope optimize --formula bankConflict --format json demo.hip >optimize.json
venv/bin/python -I - <<'END'
import json
result = json.load(open("optimize.json"))
assert result["status"] == "verified", result["message"]
print(f"a rewrite was proved: {result['speedup']:.2f} x as fast, {result['verdict']['outcome']}")
END

venv/bin/python -m pip uninstall -q -y hipscope </dev/null
files >after
diff before after >left || { cat left; say "uninstalling left files behind"; exit 1; }
[ -z "$(find venv -path '*/site-packages/hipscope*')" ] || { say "uninstalling left folders behind"; exit 1; }
say "the wheel works: $(basename "$wheel"), $(du -k "$wheel" | cut -f1) KiB"
