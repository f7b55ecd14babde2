#!/usr/bin/env bash
# gdb shows the handles of a stopped program, by the file that it loads with the library.
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/lib64/libportacl-types.o" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
command -v gdb >/dev/null || { echo "SKIPPED: no gdb"; exit 77; }
gdb -nx -batch -iex 'set debuginfod enabled off' -ex run /bin/true </dev/null 2>&1 | grep 'exited normally' >/dev/null ||
  { echo "SKIPPED: gdb may not run programs here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -g -std=c11 -I"$home/include" tests/gdb/program.c -o "$folder/program" -L"$home/lib64" \
  -lascendcl -lnnopbase -lopapi
# show LIBRARY_FOLDER [OPTION...]: gdb's output where the program has stopped. gdb may load files
# from the library's own folder, as docs/runtime.md says.
show() {
  local library=$1
  shift
  LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} gdb -nx -batch "$@" \
    -iex "add-auto-load-safe-path $(dirname "$(realpath "$library/libportacl.so")")" -iex 'set debuginfod enabled off' \
    -ex 'break Stop' -ex run -ex 'info args' "$folder/program" 2>&1 </dev/null
}
show "$home/lib64" >"$folder/shown"
if grep -q 'ptrace: Operation not permitted' "$folder/shown"; then echo "SKIPPED: no ptrace"; exit 77; fi
expect() {
  grep -qE "^$1\$" "$folder/shown" || { cat "$folder/shown"; echo "gdb does not show: $1"; exit 1; }
}
at='\(acl[A-Za-z]+\) 0x[0-9a-f]+'
expect "tensor = $at FLOAT \\[1, 2, 4, 6\\] at 0x[0-9a-f]+"
expect "odd = $at BF16 \\[1, 2, 4, 6\\] strides \\[48, 24, 1, 4\\] offset 3 at 0x[0-9a-f]+"
expect "ints = $at \\[4, 6\\]"
expect "floats = $at \\[0.5, 2\\]"
expect "bools = $at \\[true, false, true\\]"
expect "scalar = $at FLOAT 1.5"
expect "list = $at \\[INT32 \\[1, 2, 2, 3\\] at 0x[0-9a-f]+\\]"
expect "executor = $at aclnnUpsampleNearestExact2dBackward, kernel [a-z0-9:]+, workspace [0-9]+: gradOutput FLOAT \\[1, 2, 4, 6\\] at 0x[0-9a-f]+; out FLOAT \\[1, 2, 2, 3\\] at 0x[0-9a-f]+"
expect "stream = $at stream [0-9]+ of device 0: 0 waiting, idle"

# A library without any symbols of its own, as packages have it.
mkdir "$folder/stripped"
cp -P "$home"/lib64/*.so* "$home/lib64/libportacl-types.o" "$folder/stripped"
strip "$folder/stripped/libportacl.so"
show "$folder/stripped" >"$folder/shown"
expect "ints = $at \\[4, 6\\]"
expect "stream = $at stream [0-9]+ of device 0: 0 waiting, idle"

# A folder of links to it, as a wheel's sdk-path is.
mkdir "$folder/linked"
ln -s "$folder"/stripped/libascendcl.so "$folder"/stripped/libnnopbase.so "$folder"/stripped/libopapi.so \
  "$folder"/stripped/libportacl.so "$folder"/stripped/libportacl.so.0 "$folder/linked"
show "$folder/linked" >"$folder/shown"
expect "ints = $at \\[4, 6\\]"

# The printers in gdb's own folder, as Debian's package has them.
own=$folder/share/gdb/auto-load
mkdir -p "$own$folder/stripped"
mv "$folder"/stripped/libportacl.so.*-gdb.py "$own$folder/stripped"
show "$folder/stripped" -iex "add-auto-load-scripts-directory $own" -iex "add-auto-load-safe-path $own" >"$folder/shown"
expect "ints = $at \\[4, 6\\]"
echo "gdb shows tensors, scalars, arrays, lists, executors and streams"
