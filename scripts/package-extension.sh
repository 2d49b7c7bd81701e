#!/bin/sh
# The extension as vscode-extension/hipscope.vsix. With a wheel of the same version in dist it has that inside and is for Linux on
# x86-64, so that its button *Install* needs nothing else; without one it is for any system and finds a server that is there.
set -eu
cd "$(dirname "$0")/.."
wheel=$(ls dist/hipscope-*.whl 2>/dev/null | head -n 1)
rm -rf vscode-extension/server
if [ -n "$wheel" ]; then
    mkdir vscode-extension/server
    cp "$wheel" vscode-extension/server/
fi
cd vscode-extension
npm run --silent package -- ${wheel:+--target linux-x64} >&2
