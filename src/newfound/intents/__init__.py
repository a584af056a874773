"""What an intent is to a person: its description, its name and its place on the map."""
