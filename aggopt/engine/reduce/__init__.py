"""Sums over all blocks: moments, certificates, the audit and the manifest."""
