#!/usr/bin/env bash
# Functions of src fit on a screen, and files have an end, see sizes.py.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
python3 tests/script/sizes.py

# The check finds long functions and files, whatever braces are in their text.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/src/base"
cd "$copy"
lines() { for _ in $(seq "$1"); do echo "  ++n; $2"; done; }  # lines COUNT TEXT
{
  echo 'namespace portacl { class A {'
  echo ' public:'
  echo '  A() : a_{1},'
  echo '        b_{2} {'
  lines 57 "// }"
  echo '  }'
  echo '  template <class T>'
  echo '  int Long(T x = {}, char c = '"'{'"') {'
  lines 57 'f("}");'
  echo '    const auto g = [] { return 1'"'"'000; };'
  echo '  }'
  echo '};'
  echo 'const int kTable[] = {'
  lines 70 ""
  echo '};'
  echo 'void Short() {'
  lines 58 ""
  echo '} }'
} >src/base/planted.cc
{ echo 'void Open() {'; echo '{ }'; } >src/base/open.cc
lines 701 "" >src/base/endless.h
! python3 "$PORTACL_SOURCE_DIR/tests/script/sizes.py" >found || { echo "nothing noticed"; exit 1; }
printf '%s\n' "src/base/endless.h: 701 lines, at most 700" "src/base/open.cc:0: braces do not pair" \
  "src/base/planted.cc:63: 61 lines, at most 60" >wanted
diff wanted found
