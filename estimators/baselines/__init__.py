"""What others do for the papers' problems: private estimators to compare with."""
