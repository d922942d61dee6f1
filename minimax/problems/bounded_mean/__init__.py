"""The mean of records in a cube."""
