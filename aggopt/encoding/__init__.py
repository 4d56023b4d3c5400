"""Typed attributes as coordinates in which squared distance is their distance."""
