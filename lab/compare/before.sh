#!/usr/bin/env bash
# Lays out arc of another commit or folder below target/before/, with the servers and benchmarks of
# this one, and prints where: what is measured "commit against commit" differs in arc alone. A file
# that has not changed is not touched, so that it is not compiled again.
#
# usage: before.sh TARGET (commit REV | folder PATH)
set -euo pipefail
cd "$(dirname "$0")/../.."
home=$1/before

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
# The present ones know all options that are asked for.
for part in lab/versus benches; do
  mirror . "$tree" "$part"
done

# A tree in which all packages stand at the top, as they once did.
if [ ! -e "$tree/crates/compat/Cargo.toml" ]; then
  sed -i 's|"versus"|"lab/versus"|' "$tree/Cargo.toml"
  sed -i 's|\.\./\.\./crates/|../../|' "$tree/lab/versus/Cargo.toml"
  sed -i 's|\.\./crates/|../|' "$tree/benches/Cargo.toml"
fi
echo "$tree"
