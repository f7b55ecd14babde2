#!/usr/bin/env bash
# What programs for the vendor's toolkit look for in the install tree: the variables of set_env.sh,
# the folders, the newer link names, the older header names.
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
for line in "ASCEND_HOME_PATH=$home" "ASCEND_TOOLKIT_HOME=$home" "ASCEND_OPP_PATH=$home/opp" \
  "LD_LIBRARY_PATH=$home/lib64"; do
  grep -qxF "$line" "$folder/env" || { echo "set_env.sh does not set $line"; exit 1; }
done
for path in opp runtime/lib64/libascendcl.so compiler/lib64/libacl_op_compiler.so; do
  [ -e "$home/$path" ] || { echo "no $path in the install tree"; exit 1; }
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
LD_LIBRARY_PATH=$home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$folder/program"
echo "variables, folders, link names and $count older header names are there"
