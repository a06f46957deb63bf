"""Orders of minimum total pair cost: greedy, by components, by local search, and exact with a proof of optimality."""
