"""The traces as published: what makes the digests in ``data/``, and verifies them.

One module per trace, named as the one of :mod:`fairbook.traces` that loads its digest. No study imports these, so that
a change here leaves every stored result fresh. They take the official files as they are: what those do not contain is
not looked for.
"""
