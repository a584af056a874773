"""Seeding, schedule, the step loop, checkpoints and progress. Knows nothing of any one method."""
