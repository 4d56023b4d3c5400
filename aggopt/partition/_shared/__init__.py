"""What partitioners share: result, SSE, scaling."""
