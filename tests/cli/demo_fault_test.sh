#!/usr/bin/env bash
# A kernel with one wrong bit must be found by `portacl demo`: a preloaded library flips the last bit
# of the first element of every gradInput, except where the implementation is forced (as ref is).
set -euo pipefail
portacl=$PORTACL_BUILD_DIR/bin/portacl
[ -x "$portacl" ] || { echo "SKIPPED: no $portacl"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/fault.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <portacl/portacl.h>

static unsigned char *result;  // of the newest plan, which need not run
static const portaclPlan *planned;

int32_t portaclPlanUpsampleNearestExactBackward(const portaclTensor *gradOutput,
                                                const portaclTensor *gradInput,
                                                const double *scales, portaclPlan **plan) {
  int32_t (*real)(const portaclTensor *, const portaclTensor *, const double *, portaclPlan **);
  *(void **)&real = dlsym(RTLD_NEXT, "portaclPlanUpsampleNearestExactBackward");
  const int32_t status = real(gradOutput, gradInput, scales, plan);
  result = gradInput->data;
  planned = status == PORTACL_OK ? *plan : NULL;
  return status;
}

int32_t portaclPlanRun(const portaclPlan *plan, void *const *tensors, void *workspace,
                       uint64_t workspaceSize) {
  int32_t (*real)(const portaclPlan *, void *const *, void *, uint64_t);
  *(void **)&real = dlsym(RTLD_NEXT, "portaclPlanRun");
  const int32_t status = real(plan, tensors, workspace, workspaceSize);
  if (plan == planned && portaclGetImpl()[0] == '\0') result[0] ^= 1;
  return status;
}
C
"${CC:-cc}" -shared -fPIC -o "$work/fault.so" "$work/fault.c" -ldl \
  -I"$PORTACL_SOURCE_DIR/include" -I"$PORTACL_BUILD_DIR/generated/include"

status=0
LD_PRELOAD=$work/fault.so "$portacl" demo "$work/out" >"$work/text" 2>"$work/errors" || status=$?
fail() { echo "$1"; tail -n 20 "$work/text" "$work/errors"; exit 1; }
[ $status -eq 1 ] || fail "exit code $status, but 1 is wanted"
grep -q 'grad_input\[0\] is .*, but ref has' "$work/text" || fail "the wrong element is not named"
grep -q '^demo: FAILED' "$work/text" || fail "the last line does not say FAILED"
[ -s "$work/out/contact-sheet.png" ] || fail "there is no page to look at"
sed -n '/^rotate 0/,/float64/p' "$work/text" | grep -q 'float32 .* ok$' || fail "operators without the fault must stay ok"
echo "demo_fault: the flipped bit was found"
