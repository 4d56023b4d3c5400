"""Methods of repair, one file each."""
