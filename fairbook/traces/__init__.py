"""Digests of public cluster traces, and the sampling of users from them.

One module per trace: :mod:`~fairbook.traces.google2011` (CPU, memory), :mod:`~fairbook.traces.alibaba2017` and
:mod:`~fairbook.traces.alibaba2018` (jobs over time), :mod:`~fairbook.traces.alibaba_gpu2023` (CPU, memory, GPU). Each
loads the small digest that ships with the package and draws users from it, so that nothing needs the raw files; of
``alibaba2018`` nothing ships, and its module reads a file from a package that anyone can install. What the traces of
batch jobs share is in :mod:`fairbook.traces.jobs`.

The files as published are read, and the digests made and verified, by :mod:`fairbook.traces.raw`.
"""
