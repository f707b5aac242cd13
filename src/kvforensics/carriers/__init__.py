"""carriers."""
