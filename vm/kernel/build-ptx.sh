#!/usr/bin/env bash
# Compiles the GPU's part of the kernel to PTX with the pinned clang: generated/kernel.ptx (the
# interpreter), processes.ptx (the same for batches), templates.ptx (the templates of the PTX compiler), runtime.ptx (what compiled code calls) and mixed.ptx (the
# interpreter for functions of a program that is compiled in part). The header of each names the compiler and a hash of the
# sources' code. With --check it writes nothing and fails
# if a file differs from what it would write (without that clang: if a hash is stale).
set -euo pipefail
cd "$(dirname "$0")"

# The version that the checked-in files are made with: another one may generate other code.
CLANG_MAJOR=22
clang=${CLANG:-clang++-$CLANG_MAJOR}
files="kernel processes templates runtime mixed"

sources=$(find . -name '*.h' -o -name '*.cpp' -o -name '*.inc' | LC_ALL=C sort)
# The hash is over the sources without comments and white space, so that a comment can be mended without the pinned
# clang: its PTX would be the same. It is in awk, because every machine has that. Compilers differ in the text that
# they write for a source without its comments.
bare() {
  LC_ALL=C awk '{
    quote = ""
    for (i = 1; i <= length($0); i++) {
      c = substr($0, i, 1)
      if (comment) {
        if (substr($0, i, 2) == "*/") { comment = 0; i++ }
      } else if (quote != "") {
        if (c == "\\") c = substr($0, i++, 2)
        else if (c == quote) quote = ""
        printf "%s", c
      } else {
        if (substr($0, i, 2) == "//") break
        if (substr($0, i, 2) == "/*") { comment = 1; i++; continue }
        if (c == "\"" || c == "\047") quote = c
        if (c !~ /[ \t\r]/) printf "%s", c
      }
    }
  }' "$@"
}
hash=$(bare $sources | sha256sum | cut -d' ' -f1)

check=false
[ "${1:-}" = --check ] && check=true
stale() { echo "vm/kernel/generated/$1.ptx is stale: run vm/kernel/build-ptx.sh" >&2; exit 1; }

if ! "$clang" --version >/dev/null 2>&1; then
  if $check; then
    for name in $files; do
      grep -q "^// Sources: sha256 $hash\$" "generated/$name.ptx" || stale $name
    done
    echo "PTX: hash of the sources is fresh ($clang not found, so it was not rebuilt)"
    exit 0
  fi
  echo "$clang not found: install clang-$CLANG_MAJOR, or name it in CLANG" >&2
  exit 1
fi

version=$("$clang" --version | head -n 1 | grep -o 'clang version [0-9.]*')
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# sm_75 and PTX 7.5: every driver since CUDA 11.5 and every GPU since Turing take it.
# No CUDA that clang may find: it would take that one's version of PTX.
# With lifetime markers clang sends every way out of a case through a second switch.
compile() {
  "$clang" --target=nvptx64-nvidia-cuda --cuda-path=/none -march=sm_75 -Xclang -target-feature -Xclang +ptx75 \
    -Xclang -disable-lifetime-markers -O3 -std=c++20 -nogpulib -ffreestanding -I. -ffp-contract=off -fno-ident \
    -S "$@" -o -
}
# Without comments and empty lines.
tidy() { sed -e 's,[[:space:]]*//.*,,' -e '/^[[:space:]]*$/d'; }

# 64 registers a lane let 1,024 lanes share a multiprocessor; what does not fit is spilled in rare
# instructions.
for name in kernel processes; do
  compile $name.cpp | sed '/^.visible .entry/,/^{/s/^{/.maxnreg 64\n{/' > "$tmp/$name"
done
# Two modules as one: the second without its directives. A template is better with both values computed
# and one selected than with branches, which keep the assembler from moving it among its neighbours.
select="-mllvm -two-entry-phi-node-folding-threshold=64"
{
  compile templates.cpp $select
  compile templates.cpp $select -DGPU_RUN_LAZY_NAN | grep -v -E '^\.(version|target|address_size)'
} | tidy > "$tmp/templates"
compile runtime.cpp | tidy > "$tmp/runtime"
compile mixed.cpp | tidy > "$tmp/mixed"

for name in $files; do
  {
    echo "// vm/kernel/$name.cpp as PTX. Made by vm/kernel/build-ptx.sh; do not edit."
    echo "// Compiler: $version"
    echo "// Sources: sha256 $hash"
    cat "$tmp/$name"
  } > "$tmp/$name.ptx"
  if $check; then
    cmp "$tmp/$name.ptx" "generated/$name.ptx" || stale $name
  else
    cp "$tmp/$name.ptx" "generated/$name.ptx"
  fi
done
if $check; then echo "The PTX is fresh"; fi
