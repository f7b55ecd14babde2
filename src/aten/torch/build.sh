#!/bin/sh
# Builds libportacl_aten.so from the installed sources beside this file. libportacl.so starts this
# script if a process uses a PyTorch that no libportacl_aten.so was built for.
#
#   build.sh FOLDER OUTPUT     FOLDER holds PyTorch's libtorch_cpu.so
#
# CXX names another compiler than c++, CXXFLAGS more options.
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
torch=$1
output=$2
compiler=${CXX:-}
for each in c++ g++ clang++; do
  if [ -z "$compiler" ] && command -v "$each" >/dev/null; then compiler=$each; fi
done
if [ -z "$compiler" ]; then
  echo "there is no C++ compiler (Debian: g++; CXX names another)"
  exit 1
fi
include=
if [ -d "$torch/../include" ]; then include=$torch/../include; fi  # else the compiler knows it
scratch=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
options="-std=c++20 -O2 -fPIC -fvisibility=hidden -w -DPORTACL_BUILDING=1 ${CXXFLAGS:-}"
# PyTorch's headers take most of the time: two compilers read them once each.
compile() {
  group=$1
  shift
  # shellcheck disable=SC2086
  printf '#include "%s"\n' "$@" | $compiler $options -I"$here/src" -I"$here/../../include" ${include:+-isystem "$include"} \
    -x c++ -c - -o "$scratch/$group.o"
}
compile compositions "$here"/src/aten/torch/compose*.cc &
compositions=$!
status=0
compile engine "$here"/src/aten/torch/[!c]*.cc || status=$?
wait $compositions
[ $status -eq 0 ]
# shellcheck disable=SC2086
$compiler -shared ${CXXFLAGS:-} "$scratch"/*.o -o "$scratch/library" -Wl,--no-as-needed -L"$torch" -ltorch_cpu -lc10 -ldl \
  -Wl,-rpath,"$torch"
mv "$scratch/library" "$output"
