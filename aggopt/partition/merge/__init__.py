"""Groups merged until each is t-close."""
