"""One pool: all at once, in order of arrival, or in whole tasks."""
