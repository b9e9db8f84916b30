"""The book as a package, in a checkout only: what judges and reproduces a paper lies beside its pages."""
