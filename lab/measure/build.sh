#!/usr/bin/env bash
# Builds programs of this package, and prints where they are; the one on Go, too.
#
# usage: build.sh PROGRAM...
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mkdir -p "${CARGO_TARGET_DIR:-target}/release" && cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
programs=()
for program in "$@"; do
  if [ "$program" = serve-go ]; then
    (cd lab/measure/go && GOTOOLCHAIN=local go build -o "$folder/serve-go")
  else
    programs+=("--bin=$program")
  fi
done
cargo build --release --package arc-lab "${programs[@]}" >&2
echo "$folder"
