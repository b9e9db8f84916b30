"""The browser of the checks; it lives in tools, which print the book with it."""

from tools.chromium import Chromium, Page, find_chromium

__all__ = ["Chromium", "Page", "find_chromium"]
