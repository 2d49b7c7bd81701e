#!/bin/sh
# Usage: scripts/build-docs.sh
# The pages of docs/ as a site in build/site, by the tools of scripts/docs-requirements.txt in an environment of their own.
# Fails for a page that is in no menu, and for a link or an anchor that leads nowhere.
set -eu
cd "$(dirname "$0")/.."
tools=build/docs-tools
wanted=$(cksum <scripts/docs-requirements.txt)
if [ "$(cat "$tools/wanted" 2>/dev/null)" != "$wanted" ]; then
    .venv/bin/python -m venv --clear "$tools"
    "$tools/bin/python" -m pip install -q --disable-pip-version-check -r scripts/docs-requirements.txt </dev/null
    printf '%s\n' "$wanted" >"$tools/wanted"
fi
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --strict --quiet
echo "build/site/index.html"
