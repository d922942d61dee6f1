"""A sparse mean."""
