"""The methods that prove lower and upper bounds, for any problem."""
