"""The discovery methods: one readable file each, and a registry of their names."""
