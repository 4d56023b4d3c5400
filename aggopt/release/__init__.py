"""What goes out: the audited release, its files, and a second look at them."""
