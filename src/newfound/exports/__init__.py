"""Intents and their utterances, as other programs read them."""
