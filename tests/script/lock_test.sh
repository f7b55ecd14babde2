#!/usr/bin/env bash
# Every requirement that script/setup installs has an exact version and a hash, of the .txt files there.
set -euo pipefail
"$PORTACL_SOURCE_DIR/script/lock" --check
