"""Writers for the training data formats of bot platforms and other programs."""
