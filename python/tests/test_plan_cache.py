"""Plans of recent calls: many small ones are kept, large ones by bytes. Counted on the timeline."""

from __future__ import annotations

import json

from child import output_of

PROGRAM = """
import numpy as np, portacl
image = np.ones((1, 1, 28, 28), "f4")
small = [(h, w) for h in range(4, 68, 2) for w in range(4, 36, 2)]  # 512
for _ in range(3):  # a plan is kept from the second call on
    for size in small:
        portacl.upsample_linear(image, size)
row = np.ones((1, 1, 4), "f4")
for _ in range(3):
    for length in range(200000, 200020):
        portacl.upsample_nearest(row, (length,))
"""


def test_many_small_plans_are_kept_and_few_large_ones(tmp_path):
    file = tmp_path / "trace.json"
    output_of("-c", PROGRAM, PORTACL_TRACE=str(file))
    events = json.loads(file.read_text())["traceEvents"]
    made = [event["name"] for event in events if event.get("cat") == "plan"]
    assert made.count("portacl::upsample_linear") == 2 * 512
    assert made.count("portacl::upsample_nearest") == 60  # 20 MB each: one is kept
