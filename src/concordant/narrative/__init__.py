"""What is said about a ranking; above ``ranking`` and below the methods."""
