"""Engines below the mechanisms: loops over arrays that check no input and build no result."""
