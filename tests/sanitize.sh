#!/usr/bin/env bash
# Runs the tests on the CPU with the kernel instrumented by sanitizers. The kernel is the C++ part;
# Rust code is not instrumented.
#
#   tests/sanitize.sh [asan|tsan|all] [CARGO TEST ARGUMENTS]
#
# asan: AddressSanitizer and UndefinedBehaviorSanitizer. tsan: ThreadSanitizer. A finding ends the
# process that has it with a report, and so fails its test.
#
# CXX picks the compiler, g++ or clang++. Builds go to target/sanitize-gcc or target/sanitize-clang.
# Without further arguments the tests of the device `cpu` run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

which=${1:-all}
case $which in
  asan | tsan) sanitizers=("$which") ;;
  all) sanitizers=(asan tsan) ;;
  *) echo "usage: tests/sanitize.sh [asan|tsan|all]" >&2; exit 2 ;;
esac

export CXX=${CXX:-c++}
command -v "$CXX" >/dev/null || { echo "no C++ compiler \`$CXX\`: install g++, or set CXX" >&2; exit 1; }
host=$(rustc -vV | sed -n 's/^host: //p')
triple=$(tr a-z- A-Z_ <<<"$host")
# With gcc only the kernel differs between the builds, and the Rust code is compiled once.
if "$CXX" --version | grep -q clang; then dir=target/sanitize-clang; else dir=target/sanitize-gcc; fi

# Whether a program with these sanitizers can be linked and run.
works() {
  mkdir -p "$dir"
  echo 'int main() { return 0; }' >"$dir/probe.cpp"
  "$CXX" "-fsanitize=$1" "$dir/probe.cpp" -o "$dir/probe" && "${run[@]}" "$dir/probe"
}

# What to install where the runtime is missing.
missing() {
  local version
  version=$("$CXX" -dumpversion | cut -d. -f1)
  if "$CXX" --version | grep -q clang; then
    echo "the runtime of $1 is missing or does not work here; on Debian and Ubuntu:" \
      "apt-get install libclang-rt-$version-dev" >&2
  else
    echo "the runtime of $1 is missing or does not work here; on Debian and Ubuntu: apt-get install" \
      "libgcc-$version-dev; on Fedora: dnf install libasan libubsan libtsan" >&2
  fi
  exit 1
}

# Builds with the sanitizers of -fsanitize=LIST and runs the tests: name, LIST, test arguments.
sanitize() {
  local name=$1 list=$2 begin=$SECONDS
  shift 2
  printf '\n=== %s: -fsanitize=%s, %s\n' "$name" "$list" "$("$CXX" --version | head -n 1)"
  works "$list" || missing "$name"

  local cargo=("${run[@]}" env GPU_RUN_SANITIZE="$list" CARGO_TARGET_DIR="$dir")
  if "$CXX" --version | grep -q clang; then
    # With a target named, build scripts are not linked with these flags.
    cargo+=("CARGO_TARGET_${triple}_RUSTFLAGS=-Clinker=$CXX -Clink-arg=-fsanitize=$list"
      CARGO_BUILD_TARGET="$host")
  fi
  cargo+=(cargo test --quiet --release)
  "${cargo[@]}" --no-run -p gpu-run -p gpu-run-vm
  printf '%s: built in %d s\n' "$name" $((SECONDS - begin))
  local tests=$SECONDS
  "${cargo[@]}" -p gpu-run --test end_to_end -- --quiet "${@:-cpu/}"
  "${cargo[@]}" -p gpu-run --test conformance -- --quiet "${@:-cpu/}"
  "${cargo[@]}" -p gpu-run-vm -- "${unit[@]}" "$@"
  printf '%s: no findings; tests took %d s\n' "$name" $((SECONDS - tests))
}

# What commands are run through, and arguments of Rust's own test harness.
run=() unit=()
begin=$SECONDS
for sanitizer in "${sanitizers[@]}"; do
  case $sanitizer in
    asan)
      run=() unit=()
      # The kernel allocates nothing; what Rust leaks is not looked at.
      export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
      sanitize asan address,undefined "${@:2}"
      ;;
    tsan)
      # ThreadSanitizer needs the address space as it was before kernels randomized 32 bits of it.
      run=(setarch "$(uname -m)" -R)
      # Rust's std is not instrumented, so what its test harness and tests that run at once hand to each
      # other looks like a race. Lanes have threads of their own, in which the harness has no part.
      unit=(--test-threads=1)
      export TSAN_OPTIONS="halt_on_error=1 exitcode=66 suppressions=$PWD/tests/tsan.supp"
      sanitize tsan thread "${@:2}"
      ;;
  esac
done
printf '\nAll sanitizers passed in %d s\n' $((SECONDS - begin))
