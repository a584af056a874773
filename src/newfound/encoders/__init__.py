"""Encoders turn text into vectors: loading, the frozen trunk and the trainable tail, and the feature cache."""
