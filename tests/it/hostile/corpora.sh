#!/bin/sh
# Brings the texts of the grammars' own tests into target/corpora, one file a language, the texts
# divided by NUL (needs GitHub). The long form of `hostile::p17_abort` scans them.
set -eu
cd "$(dirname "$0")/../../.."
mkdir -p target/corpora
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
while read -r name repository; do
    git clone -q --depth 1 --no-checkout "https://github.com/$repository" "$work/$name"
    # A case is a line of `=`, its name, a line of `=`, the text, a line of `-`, and the tree.
    git -C "$work/$name" ls-tree -r --name-only HEAD | grep '/corpus/.*txt$' |
        sed 's/^/HEAD:/' | xargs git -C "$work/$name" show | awk '
        /^====*/ { head = !head; text = !head; next }
        /^---*$/ && text { text = 0; printf "%c", 0; next }
        text' >"target/corpora/$name"
done <<END
a.sh tree-sitter/tree-sitter-bash
a.c tree-sitter/tree-sitter-c
a.cs tree-sitter/tree-sitter-c-sharp
a.cpp tree-sitter/tree-sitter-cpp
a.css tree-sitter/tree-sitter-css
a.go tree-sitter/tree-sitter-go
a.html tree-sitter/tree-sitter-html
a.java tree-sitter/tree-sitter-java
a.jsx tree-sitter/tree-sitter-javascript
a.json tree-sitter/tree-sitter-json
a.lua tree-sitter-grammars/tree-sitter-lua
a.php tree-sitter/tree-sitter-php
a.py tree-sitter/tree-sitter-python
a.rb tree-sitter/tree-sitter-ruby
a.rs tree-sitter/tree-sitter-rust
a.toml tree-sitter-grammars/tree-sitter-toml
a.tsx tree-sitter/tree-sitter-typescript
a.yaml tree-sitter-grammars/tree-sitter-yaml
END
