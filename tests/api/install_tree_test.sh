#!/usr/bin/env bash
# Programs for the vendor's toolkit find their parts in the install tree: the variables of
# set_env.sh, folders and files, newer link names, older header names, npu-smi.
#
#   install_tree_test.sh [SHELL]    sh, which cannot name the file that it sources and so knows the
#                                   tree's first place only; bash for a tree that was moved
set -euo pipefail
home=${ASCEND_HOME_PATH:?}
[ -e "$home/set_env.sh" ] || { echo "SKIPPED: no install tree at $home"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# In a shell that knows nothing of the tree.
env -i PATH="$PATH" "${1:-sh}" -c '. "$1/set_env.sh" && . "$1/set_env.sh" && env' sh "$home" \
  >"$folder/env"
home=$(cd "$home" && pwd)
arch=$(uname -m)-linux
for line in "ASCEND_HOME_PATH=$home" "ASCEND_TOOLKIT_HOME=$home" "ASCEND_OPP_PATH=$home/opp" \
  "ASCEND_HOME=$home" "ASCEND_INSTALL_PATH=$home" "ASCEND_DIR=$home" "ASCEND_CUSTOM_PATH=$home" \
  "ASCEND_AICPU_PATH=$home" "TOOLCHAIN_HOME=$home/toolkit" "DDK_PATH=$home" \
  "NPU_HOST_LIB=$home/$arch/devlib" "INSTALL_DIR=$home" "CPU_ARCH=$(uname -m)" \
  "THIRDPART_PATH=$home/thirdpart" "LD_LIBRARY_PATH=$home/lib64"; do
  grep -qxF "$line" "$folder/env" || { echo "set_env.sh does not set $line"; exit 1; }
done
env INSTALL_DIR=/elsewhere bash -c '. "$0/set_env.sh" && [ "$INSTALL_DIR" = /elsewhere ]' "$home" ||
  { echo "set_env.sh takes the place of the program's own INSTALL_DIR"; exit 1; }
bash -c '. "$0/bin/setenv.bash" && [ "$ASCEND_HOME_PATH" = "$0" ]' "$home" ||
  { echo "bin/setenv.bash does not do what set_env.sh does"; exit 1; }
for path in opp toolkit devlib/libascendcl.so lib64/stub/libascendcl.so runtime/lib64/stub/libascendcl.so \
  compiler/lib64/libacl_op_compiler.so include/acl/ops/acl_dvpp.h include/acl/ops/acl_cblas.h; do
  [ -e "$home/$path" ] || { echo "no $path in the install tree"; exit 1; }
done
for part in runtime compiler acllib atc fwkacllib "$arch"; do
  for path in include/acl/acl.h lib64/libascendcl.so; do
    [ -e "$home/$part/$path" ] || { echo "no $part/$path in the install tree"; exit 1; }
  done
done
version=$(sed -n 's/^#define PORTACL_VERSION_STRING "\(.*\)"$/\1/p' "$home/include/portacl/version.h")
for line in "version.cfg:runtime_running_version=[$version:portacl-$version]" "version.info:Version=$version" \
  "runtime/version.info:Version=$version" "compiler/version.info:Version=$version" \
  "opp/version.info:Version=$version" "$arch/ascend_toolkit_install.info:version=$version"; do
  grep -qxF "${line#*:}" "$home/${line%%:*}" || { echo "not there: $line"; exit 1; }
done
regular=$(find "$home/lib64" -name 'libopapi_*.so' -type f)
[ -z "$regular" ] || { echo "torch_npu would open $regular as operators of another library"; exit 1; }

# The newer link names and the older header names, alone and in both languages.
count=0
for header in "$home"/include/aclnnop/*.h; do
  name=$(basename "$header")
  echo "#include \"aclnnop/level2/$name\"" >"$folder/header.c"
  "${CC:-cc}" -std=c11 -pedantic -Wall -Werror -I"$home/include" -fsyntax-only "$folder/header.c"
  "${CXX:-c++}" -std=c++17 -pedantic -Wall -Werror -I"$home/include" -fsyntax-only -x c++ "$folder/header.c"
  count=$((count + 1))
done
cat >"$folder/program.c" <<'END'
#include <stdio.h>

#include "acl/acl.h"
#include "aclnnop/level2/aclnn_grid_sampler2d_backward.h"
int main(void) {
  uint64_t size = 0;
  aclOpExecutor *executor = NULL;
  if (aclInit(NULL) != ACL_SUCCESS) return 1;
  /* Null tensors are refused: the function runs, which is all that is asked. */
  if (aclnnGridSampler2DBackwardGetWorkspaceSize(NULL, NULL, NULL, 0, 0, false, NULL, NULL, NULL,
                                                 &size, &executor) !=
      ACLNN_ERR_PARAM_NULLPTR) {
    return 2;
  }
  return aclFinalize();
}
END
"${CC:-cc}" -std=c11 -I"$home/include" "$folder/program.c" -o "$folder/program" -L"$home/lib64" \
  -lascendcl -lnnopbase -lopapi_cv -lopapi_nn -lopapi_math
# Debian's library is not in the tree: the caller says where it is.
export LD_LIBRARY_PATH=$home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$folder/program"

# Every name links, also the names that programs only pass to the linker, from the folder for them.
# Only the one library is then loaded. portacl has none of these libraries' functions.
names=()
for name in c_sec runtime register ge_runner tiling_api ascendalog platform profapi acl_dvpp; do
  names+=("-l$name")
done
"${CC:-cc}" -std=c11 -I"$home/runtime/include" "$folder/program.c" -o "$folder/linked" \
  -L"$home/$arch/devlib" -Wl,--no-as-needed "${names[@]}" -lascendcl -lnnopbase -lopapi
"$folder/linked"
loaded=$(readelf -d "$folder/linked" | grep -c 'NEEDED.*libportacl' || true)
[ "$loaded" = 1 ] || { echo "the program loads $loaded of portacl's libraries"; exit 1; }
printf 'int memcpy_s(void); int main(void) { return memcpy_s(); }\n' >"$folder/other.c"
if "${CC:-cc}" "$folder/other.c" -o "$folder/other" -L"$home/lib64" -lc_sec 2>/dev/null; then
  echo "libc_sec.so pretends to have functions"
  exit 1
fi

# npu-smi says what it is and which devices there are.
env PORTACL_DEVICES=2 PORTACL_DEVICE_MEMORY=1G "$home/bin/npu-smi" info >"$folder/smi"
for line in '\| npu-smi of portacl .*: no NPU,.*\|' '\| 1     Ascend[^ ]* +\| OK +\| .*\|' \
  '\| 0 +\| NA +\| 0 +0    / 0 +[0-9]+ +/ 1024 +\|'; do
  grep -qE "^$line\$" "$folder/smi" || { cat "$folder/smi"; echo "npu-smi does not say: $line"; exit 1; }
done
[ "$(awk '{ print length }' "$folder/smi" | sort -u)" = 98 ] || { echo "npu-smi's table is not straight"; exit 1; }
env PORTACL_DEVICES=3 "$home/bin/npu-smi" info -l | grep -qE 'Total Count +: 3$'
[ "$(env PORTACL_DEVICES=3 "$home/bin/npu-smi" info -m | wc -l)" = 4 ]
if "$home/bin/npu-smi" set -t reset 2>"$folder/refused"; then exit 1; fi
grep -q "does not know 'set -t reset'" "$folder/refused"
python3 -c '
import ctypes, subprocess, sys, os
ctypes.CDLL("libportacl.so")
shown = subprocess.run([sys.argv[1], "info"], capture_output=True, text=True, check=True).stdout
assert f" {os.getpid()} " in shown, shown' "$home/bin/npu-smi"
echo "variables, folders, link names, npu-smi and $count older header names are there"
