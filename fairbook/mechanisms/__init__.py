"""Mechanisms: an instance in, an allocation out. They know no trace, no plot, no claim and no oracle."""
