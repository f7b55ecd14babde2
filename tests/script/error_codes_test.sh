#!/usr/bin/env bash
# Sources and tests name error codes, see error_codes.py.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
python3 tests/script/error_codes.py

# The check finds numbers, in code and in comments, and exceptions that nothing needs.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy"/{src/base,tests/campaign}
cp tests/campaign/main.cc "$copy/tests/campaign"
cd "$copy"
printf '%s\n' 'int Code() { return 107000; }  // 161002 where it is wrong' \
  'const char* Text() { return "status 561003"; }' \
  'long Large() { return 1070000 + 0x107000; }' >src/base/planted.cc
sed -i 's/100000/7/' tests/campaign/main.cc
! python3 "$PORTACL_SOURCE_DIR/tests/script/error_codes.py" >found || { echo "nothing noticed"; exit 1; }
for problem in "src/base/planted.cc:1: 107000 has a name in include" \
  "src/base/planted.cc:1: 161002 has a name in include" \
  "tests/campaign/main.cc: 100000 is not there any more, but tests/script/error_codes.py lists it"; do
  grep -qxF "$problem" found || { echo "not noticed: $problem"; cat found; exit 1; }
done
[ "$(grep -c planted found)" = 2 ] || { echo "too much noticed"; cat found; exit 1; }
