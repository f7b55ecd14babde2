"""The parts of bench/compare.py: cases, data, peers, timing, checks, report and plots."""
