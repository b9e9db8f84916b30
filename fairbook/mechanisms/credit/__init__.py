"""One pool, phase after phase, with credits."""
