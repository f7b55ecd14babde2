#!/usr/bin/env bash
# Every requirement that script/setup installs has an exact version and a hash, and the locks fit
# the .txt files.
set -euo pipefail
"$PORTACL_SOURCE_DIR/script/lock" --check
