"""A person's decisions about discovered intents: where they are stored, and how they change the model's predictions."""
