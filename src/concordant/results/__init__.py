"""What a ranking carries besides its order; below ``ranking``, which imports it."""
