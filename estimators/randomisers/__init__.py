"""Local randomisers: what a user sends instead of a record, a sign vector or a label."""
