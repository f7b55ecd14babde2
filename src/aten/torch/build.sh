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
trap 'exit 1' HUP INT TERM
options="-std=c++20 -O2 -fPIC -fvisibility=hidden -w -DPORTACL_BUILDING=1 ${CXXFLAGS:-}"
export compiler options include here scratch
# PyTorch's headers take most of the time: two compilers read them once each.
# shellcheck disable=SC2016  # the inner shell's
printf '%s\n' compositions engine | xargs -P 2 -I{} sh -c '
  case $1 in
    compositions) set -- "$1" "$here"/src/aten/torch/compose*.cc ;;
    *) set -- "$1" "$here"/src/aten/torch/[!c]*.cc ;;
  esac
  object=$scratch/$1.o
  shift
  printf "#include \"%s\"\n" "$@" >"$object.cc"
  $compiler $options -I"$here/src" -I"$here/../../include" ${include:+-isystem "$include"} -c "$object.cc" -o "$object"' \
  sh {}
# shellcheck disable=SC2086
$compiler -shared ${CXXFLAGS:-} "$scratch"/*.o -o "$scratch/library" -Wl,--no-as-needed -L"$torch" -ltorch_cpu -lc10 -ldl \
  -Wl,-rpath,"$torch"
mv "$scratch/library" "$output"
