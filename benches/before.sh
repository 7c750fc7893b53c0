#!/usr/bin/env bash
# Lays out arc of another commit or folder below target/before/, with the package arc-benches of this
# one: what is measured "commit against commit" differs in arc alone. Prints where; with names of
# programs it builds them, and prints where these are. A file that has not changed is not touched,
# so that it is not compiled again.
#
# usage: before.sh TARGET (commit REV | folder PATH) [PROGRAM...]
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "$1/before"
home=$(cd "$1/before" && pwd)

# Copies what git knows or would add of a part of a folder.
mirror() {
  local from=$1 to=$2 part=$3 file
  git -C "$from" ls-files --cached --others --exclude-standard -- "$part" | while read -r file; do
    # It may be removed, and not yet from the index; or a link to a folder.
    if [ -f "$from/$file" ] && ! cmp -s "$from/$file" "$to/$file"; then
      mkdir -p "$(dirname "$to/$file")"
      cp "$from/$file" "$to/$file"
    fi
  done
}

case $2 in
  commit)
    commit=$(git rev-parse --verify --quiet "$3^{commit}") || {
      echo "there is no commit $3" >&2
      exit 1
    }
    tree=$home/${commit:0:12}
    if [ ! -e "$tree/Cargo.toml" ]; then
      mkdir -p "$tree"
      # Without the commit's times, which may lie before those of an earlier build.
      git archive "$commit" | tar --extract --touch --directory "$tree"
    fi
    ;;
  folder)
    folder=$(cd "$3" && pwd)
    tree=$home/folder${folder//\//-}
    mkdir -p "$tree"
    # What is gone goes from the copy, too.
    find "$tree" -type f -printf '%P\n' | while read -r file; do
      [ -e "$folder/$file" ] || rm "$tree/$file"
    done
    mirror "$folder" "$tree" .
    ;;
esac
# The present one knows all options that are asked for.
mirror . "$tree" benches

# It is the only member, with what it depends on: the others may be of any age.
sed -i -Ez 's|\ndefault-members = \[[^]]*\]||; s|\nmembers = \[[^]]*\]|\nmembers = ["benches"]|' \
  "$tree/Cargo.toml"

# A tree whose folders do not have the names of their packages yet.
if [ -e "$tree/crates/arc/Cargo.toml" ]; then
  sed -i 's|/arc-async"|/arc"|; s|/arc-compat"|/compat"|' "$tree/benches/Cargo.toml"
fi
if [ $# = 3 ]; then
  echo "$tree"
  exit
fi

# A target folder for each tree. In one that they share, cargo tells the packages of two trees apart
# by the times of their files alone, and would give the programs of whichever was built last.
export CARGO_TARGET_DIR=$home/target/${tree##*/}
shift 3
(cd "$tree" && cargo build --release --package arc-benches "${@/#/--bin=}" >&2)
echo "$CARGO_TARGET_DIR/release"
