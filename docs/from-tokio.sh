#!/bin/sh
# Writes `arc` for the crate `tokio` in the Rust files below the current folder, and in `[features]` of
# each Cargo.toml. Prints what it has left to you. docs/TOKIO.md says what comes before and after.
#
#     sh from-tokio.sh
#
# A module or a feature of your own that is named tokio keeps its name: `mod tokio`, `crate::tokio::`,
# `feature = "tokio"`. A file that declares such a module is left as it is, because a path there that
# begins with `tokio::` may mean either.
set -eu

test -f Cargo.toml || { echo "run this in the folder of the program's Cargo.toml" >&2; exit 1; }

rust_files() {
    find . \( -name target -o -name '.?*' \) -prune -o -name '*.rs' -exec grep -lw "$@" {} +
}

manifests() {
    find . \( -name target -o -name '.?*' \) -prune -o -name Cargo.toml -exec "$@" {} +
}

declares='^[[:space:]]*(pub(\([a-z: ]*\))?[[:space:]]+)?mod[[:space:]]+tokio[[:space:]]*[;{]'
own=$(rust_files -E "$declares" || true)

# Behind `name::`, and in `use name::{ .. }`, it is an item of another path, but `::tokio` is the
# crate. The crate is named by a path (`tokio::`, `tokio` before `as` or `;` in a `use`), or it stands
# in the outermost braces of `use { .. }`; `mod tokio;` is none. A zero byte hides what is to stay.
rust_files tokio | while read -r file; do
    case "$own" in *"$file"*) continue ;; esac
    perl -0777 -pi -e '
        s{\buse\s+(?!(?:::\s*)?tokio\b)(?:::\s*)?\w+(?:::\w+)*::\{[^;]*;}
            {my $list = $&; $list =~ s/\btokio(?=\s*::)/tok\0io/g; $list}ge;
        s/(?<!\w::)(?<!["\w.-])\btokio(?=\s*::)/arc/g;
        s/\b(use|extern\s+crate)\s+(::)?tokio(?=\s*(;|\bas\b))/$1 . " " . ($2 || "") . "arc"/ge;
        s{\buse\s*(?:::\s*)?(?=\{)[^;]*;}{
            my $depth = 0;
            join "", map {
                $depth += /^\{/ - /^\}/;
                s/(?<![\w:])tokio(?=\s*(,|\z|as\b))/arc/g if $depth == 1;
                $_
            } split /([{}])/, $&
        }ge;
        s/tok\0io/tokio/g;' "$file"
done

# In `[features]` alone, `dep:tokio` and `tokio/NAME` are the dependency. Elsewhere they may be a path.
manifests perl -pi -e '$in_features = $1 eq "features" if /^\[+\s*([\w.-]+)\s*\]/;
    s/"dep:tokio"/"dep:arc"/g, s!"tokio(?=\??/)!"arc!g if $in_features;
    $in_features = 0 if eof;'

echo "Left in Rust files, as modules, features or text of your own:"
rust_files tokio | while read -r file; do grep -nHw tokio "$file"; done || true
echo
echo "Texts that are included, and whose examples may be tests:"
rust_files -E 'include_str!\("[^"]+\.md"\)' | while read -r file; do
    sed -n 's/.*include_str!("\([^"]*\.md\)").*/\1/p' "$file" | sort -u | while read -r text; do
        grep -nH 'tokio::' "$(dirname "$file")/$text"
    done
done || true
echo
# These parts of hyper-util and tokio-util, and the connectors of hyper's clients, call
# `tokio::spawn`, tokio's timer or its sockets. No compiler sees it.
calls='TokioExecutor|TokioTimer|HttpConnector|HttpsConnector|tokio_util::(\{.*)?(task|time)'
echo "Compile, and panic when they run; docs/TOKIO.md has arc's, and what helps with the others:"
rust_files -E "$calls" | while read -r file; do grep -nHwE "$calls" "$file"; done || true
echo
echo "To be changed in Cargo.toml (axum is without its features tokio and ws, and tokio's feature tracing"
echo "is none of arc's):"
manifests grep -nHE '\btokio\b|^axum|"arc\??/tracing"' || true
