"""Experiments as data: which cells, which seeds. One JSON per cell; tables are made only from that JSON."""
