"""Matrix methods: least squares, low rank, and Markov chains on the comparison graph."""
