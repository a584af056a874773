"""Utterances in: one `Corpus` type, readers per format, benchmark tasks and the demo corpus."""
