#!/bin/sh
# Times all pairs on an NVIDIA GPU: compiles each with nvcc, prints a JSON list and writes it to $OUT/pairs.json. Some three
# minutes. Usage: OUT=FOLDER benchmarks/pairs/run_nvidia.sh [ARCHITECTURE, sm_90 by default]
set -eu
arch=${1:-sm_90}
out=${OUT:-.}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v nvcc >/dev/null || PATH=$PATH:/usr/local/cuda/bin
export here work arch
ls "$here"/*.hip | xargs -P "$(nproc)" -I{} sh -c 'name=$(basename {} .hip)
    nvcc -O3 -w -std=c++17 -arch="$arch" -I "$here" -x cu {} -o "$work/$name" >"$work/$name.log" 2>&1 || { echo "$name does not compile:" >&2; head -5 "$work/$name.log" >&2; }'
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
{
    printf '{"gpu": "%s", "compiler": "%s", "pairs": {' "$gpu" "$(nvcc --version | sed -n 's/.*release \([^,]*\),.*/nvcc \1/p')"
    comma=
    for source in "$here"/*.hip; do
        name=$(basename "$source" .hip)
        [ -x "$work/$name" ] || continue
        line=$(timeout 60 "$work/$name" 20 2>&1 | tail -1) || true
        case $line in "{"*"}") ;; *) line='{"error": "no result"}' ;; esac
        printf '%s\n  "%s": %s' "$comma" "$name" "$line"
        comma=,
    done
    printf '\n}}\n'
} >"$out/pairs.json"
cat "$out/pairs.json"
