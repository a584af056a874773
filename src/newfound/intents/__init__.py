"""Describing intents for people: keywords, examples, overlaps, names, and the map of the logs."""
