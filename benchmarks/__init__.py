"""The paper's experiments (`python -m benchmarks`) and studies of what they do not cover."""
