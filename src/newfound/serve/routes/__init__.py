"""The routes, by what they are about. A handler calls a workflow or a view and gives the answer a schema."""
