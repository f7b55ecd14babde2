#!/usr/bin/env bash
# Only src/base/settings.h reads settings. Each has its row in docs/settings.md, and each name on
# that page and in the manual is a setting.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
check() {
  python3 - <<'PYTHON'
import pathlib
import re
import sys

table = pathlib.Path("src/base/settings.h").read_text()
listed = set(re.findall(r'^  [A-Z]+\(\w+, "(PORTACL_\w+)"', table, re.M))
manual = set(re.findall(r'\{"(PORTACL_\w+)"', pathlib.Path("tools/manual/man_page.cc").read_text()))
rows = set(re.findall(r"^\| `(PORTACL_\w+)", pathlib.Path("docs/settings.md").read_text(), re.M))
found = [f"{name} is not in docs/settings.md" for name in sorted(listed - rows)]
found += [f"docs/settings.md has a row for {name}, which is no setting" for name in sorted(rows - listed)]
found += [f"the manual names {name}, which is no setting" for name in sorted(manual - listed)]
for source in pathlib.Path("src").rglob("*.cc"):
    if "getenv(" in source.read_text() and source.name != "settings.cc":
        found.append(f"{source} reads the environment")
print("\n".join(found) or f"ok: {len(listed)} settings")
sys.exit(1 if found or len(listed) < 10 else 0)
PYTHON
}
check

# The check finds a setting without a row, and a setting that is read elsewhere.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r docs src tools "$copy"
cd "$copy"
sed -i 's/^  FLAG(Strict,.*$/&\n  FLAG(Haste, "PORTACL_HASTE", "no row") \\/' src/base/settings.h
echo 'const char* hidden = getenv("PORTACL_HIDDEN");' >src/ops/hidden.cc
check >found && { echo "nothing was noticed"; exit 1; }
for problem in "PORTACL_HASTE is not in docs/settings.md" "src/ops/hidden.cc reads the environment"; do
  grep -qxF "$problem" found || { echo "not noticed: $problem"; cat found; exit 1; }
done
