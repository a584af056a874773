"""Reading utterances: the type `Corpus`, a reader per format, benchmark tasks and the demo corpus."""
