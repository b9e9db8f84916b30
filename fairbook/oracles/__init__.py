"""Independent optima that judge the mechanisms: linear programs (HiGHS) and exact arithmetic.

Nothing here imports a mechanism. Oracles are written from the definitions and for trust, not for speed.
"""
