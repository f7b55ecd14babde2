#!/usr/bin/env bash
# PORTACL_PROFILE, PORTACL_STRICT and PORTACL_IMPL, which are read once per process: a program
# that makes one nearest-exact call with a ratio of 51 and an inputSize that differs from out.
. "$PORTACL_SOURCE_DIR/tests/examples/lib.sh"

cat >"$folder/program.c" <<'END'
#include <stdio.h>
#include "acl/acl.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "portacl/portacl.h"
int main(int argc, char **argv) {
  static float from[2], to[102];
  const int64_t large[] = {1, 1, 2}, small[] = {1, 1, 102}, differing[] = {1, 1, 101};
  uint64_t size = 0;
  aclOpExecutor *executor = NULL;
  int64_t in = argc > 1 ? 102 : 100;
  const int64_t out_shape[] = {1, 1, in};
  aclTensor *g = aclCreateTensor(large, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, large, 3, from);
  aclTensor *o = aclCreateTensor(out_shape, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, out_shape, 3, to);
  int status = aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
      g, aclCreateIntArray(large + 2, 1), aclCreateIntArray(argc > 1 ? small : differing, 3), 0, o,
      &size, &executor);
  (void)argv;
  const char *message = aclGetRecentErrMsg();
  printf("%d %s %d %s\n", status, portaclGetProfile(), portaclGetStrict(), message ? message : "");
  return 0;
}
END
build "$folder/program" "$folder/program.c" -lportacl

# check PATTERN [VARIABLE=VALUE]... -- [ARGUMENT]: the program's line matches.
check() {
  local pattern=$1 variables=() line
  shift
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  line=$(env -u PORTACL_PROFILE -u PORTACL_EDITION -u PORTACL_STRICT -u PORTACL_IMPL "${variables[@]}" \
    "$folder/program" "$@")
  [[ $line =~ $pattern ]] || { echo "${variables[*]} $*: '$line' does not match '$pattern'"; exit 1; }
}
# With an argument: the ratio above 50. Without: inputSize differs.
check '^161002 atlas-a2 0 .*at most 50' -- limit
check '^161002 atlas-a3 0 .*at most 50' PORTACL_PROFILE=atlas-a3 -- limit
check '^0 open 0 ' PORTACL_PROFILE=open -- limit
check '^161002 atlas-training 0 .*atlas-training' PORTACL_PROFILE=atlas-training -- limit
check '^0 atlas-a2 0 .*warning: inputSize' --
check '^161002 atlas-a2 1 .*inputSize' PORTACL_STRICT=1 --
check '^0 atlas-a2 0 ' PORTACL_STRICT=0 --
check '^0 atlas-a2 0 ' PORTACL_STRICT=off --
check '^0 open 0 ' PORTACL_PROFILE=open PORTACL_IMPL=ref -- limit
check '^161002 open 0 .*"nonsense".*ref' PORTACL_PROFILE=open PORTACL_IMPL=nonsense -- limit
check '^161002 atlas-a2 0 .*PORTACL_PROFILE is "atlas-a9".*atlas-training, ascend-950, open' PORTACL_PROFILE=atlas-a9 -- limit
# The newest page has the limit of gradOutput's extent, not of out's.
check '^0 atlas-a2 0 ' PORTACL_EDITION=9.x -- limit
check '^161002 atlas-a2 0 .*at most 50' PORTACL_EDITION=8.x -- limit
check '^161002 atlas-a2 0 .*PORTACL_EDITION is "7".*8.x, 9.x' PORTACL_EDITION=7 -- limit
check '^161002 ascend-950 0 .*does not have this operator' PORTACL_PROFILE=ascend-950 -- limit
echo "ok"
