"""Speed, measured as ratios within one run: ``make bench`` writes RESULTS.md and fails below what is promised.

By hand, since asv compares commits, not two ways of doing one thing within one run.
"""
