"""The result of a fit: the classifier over known and new intents, its types, and its folder on disk."""
