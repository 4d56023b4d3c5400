"""Foundations of all other folders: validation, progress, deadlines, memory."""
