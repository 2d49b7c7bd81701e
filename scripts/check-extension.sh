#!/bin/sh
# Types and lint of the VS Code extension and of the editor test. Without Node.js 20 or newer it says so and checks nothing.
set -eu
cd "$(dirname "$0")/../vscode-extension"
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    echo "hipscope: the extension is not checked: needs Node.js 20 or newer and npm" >&2
    exit 0
fi
lock=$(sha256sum package-lock.json | cut -d' ' -f1)
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$lock" ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    echo "$lock" >node_modules/.installed
fi
npm run --silent check
