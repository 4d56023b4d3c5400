"""Shared parts of partitioners: results, SSE, scaling."""
