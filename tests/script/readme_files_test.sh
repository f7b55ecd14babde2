#!/usr/bin/env bash
# The README files of src and tools name the files beside them, see readme_files.py.
set -euo pipefail
cd "$PORTACL_SOURCE_DIR"
python3 tests/script/readme_files.py

# A page that names too little or too much is noticed.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r include src tools "$copy"
cd "$copy"
touch src/base/not_named.cc src/ops/not_named_rules.cc src/cpu/grid_sampler/grid_sampler_2d_unnamed-inl.h
rm src/ref/grid_sampler_point.h
mv src/ops/recent_plans.cc tools/recent_plans.cc  # one of its name elsewhere does not count
rm src/ops/recent_plans.h
for problem in "src/base/README.md does not name not_named.cc" \
  "src/ops/README.md does not name not_named_rules.cc" \
  "src/ops/README.md names recent_plans.*, which is not there" \
  "src/cpu/grid_sampler/README.md does not name grid_sampler_2d_unnamed-inl.h" \
  "src/ref/README.md names grid_sampler_point.h, which is not there"; do
  python3 "$PORTACL_SOURCE_DIR/tests/script/readme_files.py" >found || true
  grep -qxF "$problem" found || { echo "not noticed: $problem"; cat found; exit 1; }
done
