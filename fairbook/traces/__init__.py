"""Readers of public cluster traces, their digests, and the sampling of users from them.

One module per trace. Each reads the files as published, writes a small digest with its provenance, and loads the
digest that ships with the package, so that everything else runs without the raw files. What the traces of batch jobs
share is in :mod:`fairbook.traces.jobs`.
"""
