#!/usr/bin/env bash
# Scripts begin with comments, which --help prints, and then stop at the first error: a line that lost its
# "#" would be run before that.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
# check FILE...: names each line of a script before its "set -euo pipefail" that is no comment.
check() {
  awk 'FNR == 1 {head = /^#!.*bash$/}
    /^set -euo pipefail$/ {head = 0}
    head && !/^#/ {print FILENAME ":" FNR ": " $0; found = 1}
    END {exit found}' "$@"
}
check .ci/run $(find script -type f -not -path 'script/lib/*' -executable)

copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
printf '#!/usr/bin/env bash\n# help\n  more help\nset -euo pipefail\necho\n' >"$copy"
[ "$(check "$copy" || true)" = "$copy:3:   more help" ] || { echo "a lost # is not noticed"; exit 1; }
echo "ok: heads of scripts are comments"
