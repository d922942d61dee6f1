"""One folder a problem: `problem`, `lower`, `upper`."""
