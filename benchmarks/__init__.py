"""Speed, measured as ratios within one run: ``make bench`` writes RESULTS.md and fails below what is promised."""
