#!/usr/bin/env bash
# Where and of what the figures are: machine, versions, commit.
cd "$(dirname "$0")/.." || exit
date -u '+%Y-%m-%d %H:%M UTC'
echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)," \
  "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo) MiB, Linux $(uname -r)"
echo "commit $(git rev-parse --short=12 HEAD)$([ -z "$(git status --porcelain)" ] || echo ', changed')"
rustc --version
oha --version 2>/dev/null
wrk -v 2>/dev/null | sed -n 's/ \[.*//p'
cargo tree --package arc-benches --edges normal --depth 1 --prefix none | sed '1d; s/ (.*//' | paste -sd,
