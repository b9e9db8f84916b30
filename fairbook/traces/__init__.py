"""Readers of public cluster traces, their digests, and the sampling of users from them.

One module per trace: :mod:`~fairbook.traces.google2011` (CPU, memory), :mod:`~fairbook.traces.alibaba2017` and
:mod:`~fairbook.traces.alibaba2018` (jobs over time), :mod:`~fairbook.traces.alibaba_gpu2023` (CPU, memory, GPU). Each
reads the files as published, writes a small digest with its provenance, and loads the digest that ships with the
package, so that everything else runs without the raw files; of ``alibaba2018`` nothing ships and only a reader is here.
What the traces of batch jobs share is in :mod:`fairbook.traces.jobs`.
"""
