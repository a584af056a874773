"""Names of new intents from a language model (`newfound.llm`), which is asked only on request."""
