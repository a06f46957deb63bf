"""From what pairs cost to an order: greedy, by components, by local search, and exactly with a proof."""
