"""Small charts in SVG: text stays text, colours are the page's, nothing is fetched."""
