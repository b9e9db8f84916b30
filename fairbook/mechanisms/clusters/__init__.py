"""Virtual clusters on physical ones."""
