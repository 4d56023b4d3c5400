"""Pictures: figures of matplotlib, without pyplot's global state."""
