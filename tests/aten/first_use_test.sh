#!/usr/bin/env bash
# Without a libportacl_aten.so for the PyTorch that a process has loaded, the first call builds it
# from the sources in the install tree. Later processes use that file.
set -euo pipefail
home=${ASCEND_HOME_PATH:?names the install tree}
backend=$home/lib64/libportacl_aten.so
if [ ! -e "$backend" ]; then
  echo "skipped: $home has no libportacl_aten.so (script/setup --aten)"
  exit 77
fi
torch=$(ldd "$backend" | sed -n 's/.*libtorch_cpu[^ ]* => \([^ ]*\) .*/\1/p')
[ -e "$torch" ]
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cp -a "$home/lib64" "$home/include" "$scratch/home"
rm "$scratch/home/lib64/libportacl_aten.so"
"${CXX:-g++}" tests/aten/exp_of_one.cc -o "$scratch/program" -I"$scratch/home/include" -L"$scratch/home/lib64" \
  -lascendcl -lnnopbase -lopapi -ldl
export LD_LIBRARY_PATH=$scratch/home/lib64 PORTACL_CACHE=$scratch/cache CXXFLAGS=-O0
unset PORTACL_ATEN_LIBRARY

# expect STATUS WORDS COMMAND...: its status, and an expression that stands in what it says.
expect() {
  local status=0 wanted=$1 words=$2
  shift 2
  "$@" >"$scratch/said" 2>&1 || status=$?
  if [ $status -ne "$wanted" ] || ! grep -qE "$words" "$scratch/said"; then
    echo "$*: status $status, not $wanted, or not '$words':"
    cat "$scratch/said"
    exit 1
  fi
}

expect 1 'libportacl_aten.so is not there: script/setup --aten' "$scratch/program"
expect 1 'cannot be built for PyTorch [0-9.]+: .*no-compiler' env CXX=no-compiler "$scratch/program" "$torch"
# The compiler's error, not the lines that lead to it.
expect 1 'cannot be built for PyTorch [0-9.]+: [^(]*error: nowhere.h' env CXXFLAGS='-include nowhere.h' \
  "$scratch/program" "$torch"
[ "$(find "$scratch/cache/aten" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 0 ]
expect 0 'building for PyTorch [0-9.]+, once' "$scratch/program" "$torch"
expect 0 '^2.7183' env CXX=no-compiler "$scratch/program" "$torch"
if grep building "$scratch/said"; then exit 1; fi
[ "$(find "$scratch/cache/aten" -name 'libportacl_aten-torch*.so' | wc -l)" -eq 1 ]
# Where the Python environment of the library has PyTorch, that one.
package=$(dirname "$torch")/..
[ -e "$package/version.py" ] || exit 0
mkdir -p "$scratch/site/portacl"
mv "$scratch/home" "$scratch/site/portacl/sdk"
ln -s "$(cd "$package" && pwd)" "$scratch/site/torch"
expect 0 '^2.7183' env LD_LIBRARY_PATH="$scratch/site/portacl/sdk/lib64" "$scratch/program"
