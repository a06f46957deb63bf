"""Methods that learn from labelled instances whom to trust; one file per method."""
