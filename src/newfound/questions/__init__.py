"""Questions about doubtful utterances: which one to ask next, what was answered, and the labels under the answers."""
