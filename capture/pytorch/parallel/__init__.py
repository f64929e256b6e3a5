"""Plans of parallel training, and how they are laid over a model."""
