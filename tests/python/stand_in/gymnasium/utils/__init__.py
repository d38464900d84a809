"""The checker of envs."""
