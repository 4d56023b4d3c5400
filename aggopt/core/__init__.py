"""What every other folder builds on: validation, progress, deadlines, memory."""
