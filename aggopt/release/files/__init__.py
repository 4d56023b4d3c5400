"""The files of a release, each written completely or not at all."""
