"""Ways in which pages are opened in a browser."""

WAYS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
    "printed": {},
}
