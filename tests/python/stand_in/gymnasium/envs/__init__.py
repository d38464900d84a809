"""Where envs are registered."""
