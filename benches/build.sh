#!/usr/bin/env bash
# Builds programs of this package, and prints where they are.
#
# usage: build.sh PROGRAM...
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}/release" && cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
programs=()
for program in "$@"; do
  programs+=("--bin=$program")
done
cargo build --release --package arc-benches "${programs[@]}" >&2
echo "$folder"
