"""One page about a model, for people who would rather look than read JSON."""
