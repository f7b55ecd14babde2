# Shared by the tests of programs against the install tree. Sets $home and a scratch $folder.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/lib64/libascendcl.so" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH=$home/lib64
vendor_libraries=(-lascendcl -lnnopbase -lopapi)

# build OUTPUT SOURCE OPTIONS...: compiles and links as a user does, with the language's compiler.
# Debian's g++ takes C++17 by itself, its clang does not.
build() {
  local output=$1 source=$2 compiler=${CXX:-g++} standard=()
  shift 2
  if [[ $source == *.c ]]; then
    compiler=${CC:-gcc}
  elif "$compiler" --version | grep -q clang; then
    standard=(-std=c++17)
  fi
  "$compiler" "$source" "${standard[@]}" -I"$home/include" -L"$home/lib64" "$@" -o "$output"
}

# expect NAME PROGRAM: runs it and compares its output with expected/NAME.txt.
expect() {
  "$2" >"$folder/$1.out" || { echo "$1: exit status $?"; cat "$folder/$1.out"; exit 1; }
  diff "$PORTACL_SOURCE_DIR/tests/examples/expected/$1.txt" "$folder/$1.out" ||
    { echo "$1: the output differs (< expected, > got)"; exit 1; }
  echo "ok $1"
}
