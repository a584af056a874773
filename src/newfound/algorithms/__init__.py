"""Pure functions on tensors and arrays: the paper's equations, clustering, neighbours, consensus, scores."""
