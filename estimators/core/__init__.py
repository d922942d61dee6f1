"""What every estimator is made of: conventions, mechanisms, and the ledger of what they cost."""
