"""Virtual clusters: users who want many machines and bear a slowdown."""
