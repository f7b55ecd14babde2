#!/usr/bin/env bash
# The bill of materials: the same bytes twice, and a component for every library that sources name.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
command -v dpkg-query >/dev/null || { echo "SKIPPED: no Debian system"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SOURCE_DATE_EPOCH=1700000000
script/sbom "$folder/one.json" && script/sbom >"$folder/two.json"
cmp "$folder/one.json" "$folder/two.json"
python3 - "$folder/one.json" THIRD_PARTY_LICENSES.txt <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    bill = json.load(file)
assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5"), bill["bomFormat"]
components = {c["bom-ref"]: c for c in bill["components"]}
assert len(components) == len(bill["components"]), "a component twice"
assert set(bill["dependencies"][0]["dependsOn"]) == set(components)
for component in components.values():
    assert component["version"][0].isdigit() and component["licenses"], component
# What cmake/dependencies.cmake, tools and python look for.
wanted = {"fmt", "spdlog", "nlohmann-json", "CLI11", "stb_truetype", "highway", "oneTBB", "libpng",
          "libjpeg-turbo", "zlib", "nanobind", "robin-map", "XLA", "Roboto"}
# One row of the table of licences for each.
with open(sys.argv[2], encoding="utf-8") as file:
    table = file.read().split("\n\n")[2].splitlines()[1:]
assert len(table) == len(wanted), (len(table), sorted(wanted))
names = {component["name"] for component in components.values()}
assert names == wanted, names ^ wanted
PYTHON
echo "ok"
