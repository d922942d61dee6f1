"""One folder a problem: `problem`, `lower`, `upper`. What a folder exports is in the catalogue."""
