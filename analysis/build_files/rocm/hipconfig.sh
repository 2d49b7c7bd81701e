#!/bin/sh
# Answers as ROCm's hipconfig does, for build files that ask it.
root='@ROOT@'
[ $# -gt 0 ] || set -- --full
for argument in "$@"; do
    case $argument in
        --path|-p|--rocmpath|-R) printf '%s' "$root" ;;
        --cpp_config|-C) printf ' -D__HIP_PLATFORM_AMD__= -I%s/include' "$root" ;;
        --compiler|-c) printf clang ;;
        --platform|-P) printf amd ;;
        --runtime|-r) printf rocclr ;;
        --hipclangpath|-l) printf '%s/llvm/bin' "$root" ;;
        --version|-v) printf @VERSION@ ;;
        *) printf 'HIP version: %s\nHIP_PATH: %s\nHIP_PLATFORM: amd\n' @VERSION@ "$root" ;;
    esac
done
