"""Digests of public cluster traces, and the sampling of users from them.

One module per trace: :mod:`~fairbook.traces.google2011` (CPU, memory), :mod:`~fairbook.traces.alibaba2017` (jobs
over time), :mod:`~fairbook.traces.alibaba_gpu2023` (CPU, memory, GPU). Each loads the small digest that ships with the
package and draws users from it, so that nothing needs the raw files.

The files as published are read, and the digests made and verified, by ``python -m book digest`` and ``python -m book
verify`` in a checkout.
"""
