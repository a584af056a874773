"""What a person decides about discovered intents, how it is kept, and how it changes the model's answers."""
