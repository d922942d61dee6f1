"""What `verify.rates` runs besides the claims: findings that need a simulation of their own."""
