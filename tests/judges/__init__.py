"""Judges: every mechanism once more, naively, from its paper and the readings that its page names, on fractions.

They share no function with what they judge: nothing of the library is imported here, and nothing of the book. Machines
come one by one, ``None`` is no bound, and of numbers that tie the first counts.
:mod:`tests.library.test_judges` says who judges what.
"""
