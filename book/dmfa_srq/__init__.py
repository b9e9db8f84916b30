"""DMFA-SRQ: users arrive, bring resources and keep what they were given."""
