"""The traces as published: readers, and what makes and verifies the digests.

One module per trace, of the same name as the one that loads its digest. Nothing that loads or samples imports these,
so that a change here leaves every stored result fresh. They take the official files, and say of another what is wrong
with it.
"""
