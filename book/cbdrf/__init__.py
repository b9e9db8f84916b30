"""cbDRF: nodes that keep what they should give back; and Karma."""
