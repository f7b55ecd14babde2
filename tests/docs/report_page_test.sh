#!/usr/bin/env bash
# The page of `portacl report` and `portacl verify --report` in a browser, as a telephone and a desk
# show it: golden alone, a library that passes, one with a planted fault, and one that crashes.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
fixture=$PORTACL_BUILD_DIR/fixture
[ -d "$fixture" ] || { echo "skipped: this build has no library with planted faults"; exit 77; }
command -v chromium chromium-browser >/dev/null ||
  { echo "skipped: no Chromium (script/setup --browser installs it)"; exit 77; }
python=$(script/setup --print-browser-venv)/bin/python
"$python" -c 'import playwright' 2>/dev/null ||
  { echo "skipped: no Playwright (script/setup --browser installs it)"; exit 77; }
# Some containers have no place for a browser's processes.
status=0
timeout 300 "$python" tests/docs/report_page.py --probe || status=$?
case $status in
  0) ;;
  77 | 124) echo "skipped: Chromium does not start here"; exit 77 ;;
  *) exit 1 ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
portacl=${ASCEND_HOME_PATH:?}/bin/portacl
cases=$folder/cases.txt
"$portacl" cases generate smoke --count 40 >"$cases"
"$portacl" cases generate boundary >"$folder/boundary"
grep -m 8 -E 'nonfinite|=0x|x0x' "$folder/boundary" >>"$cases"
echo 'upsample_nearest_exact2d name=seven self=1x1x5x7 out=1x1x5x7' >>"$cases"
echo 'grid_sampler_2d_backward name=wide input=1x3x90x130 grid=1x70x110x2 grid.values=smooth' >>"$cases"
echo 'grid_sampler_3d_backward name=volume input=1x2x6x30x40 grid=1x5x20x25x3' >>"$cases"

# verify NAME WANTED LIB_DIR: a page, and the exit code that it comes with.
verify() {
  local status=0
  "$portacl" verify "$cases" --lib-dir "$3" --report "$folder/$1.html" >"$folder/log" 2>&1 || status=$?
  [ $status -eq "$2" ] || { echo "$1: exit code $status, not $2"; cat "$folder/log"; exit 1; }
}
verify passed 0 "$ASCEND_HOME_PATH/lib64"
FIXTURE=shifted_half verify wrong 1 "$fixture"
FIXTURE=crash verify crashed 1 "$fixture"
"$portacl" golden "$cases" -o "$folder/golden" >/dev/null
"$portacl" report "$folder/golden" -o "$folder/golden.html" >/dev/null

sed -n '1,8p;$p' "$cases" >"$folder/few.txt"
cases=$folder/few.txt
FIXTURE=shifted_half verify few 1 "$fixture"
"$python" tests/docs/report_page.py --self-test "$folder/few.html"
"$python" tests/docs/report_page.py "$folder"/{golden,passed,wrong,crashed}.html
