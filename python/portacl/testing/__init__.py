"""Golden results and verdicts for kernels, on arrays of any kind.

A case is a string, as ``portacl golden --case`` and lists of cases have it::

    from portacl.testing import assert_matches_golden, cases, sample_inputs

    @pytest.mark.parametrize("case", cases("smoke", count=100, operator="grid_sampler_2d"))
    def test_my_kernel(case):
        sample = sample_inputs(case)
        out = my_kernel(**sample.inputs, **sample.arguments)
        assert_matches_golden(case, {"out": out})

The verdict is the same as ``portacl compare``'s: each element within the error bound that follows
from the case's inputs, or another standard by option.
"""

from ._cases import Case, cases
from ._golden import (
    Golden,
    Output,
    Verdict,
    assert_matches_golden,
    compare,
    golden,
)
from ._samples import Sample, sample_inputs

__all__ = [
    "Case",
    "Golden",
    "Output",
    "Sample",
    "Verdict",
    "assert_matches_golden",
    "cases",
    "compare",
    "golden",
    "sample_inputs",
]
