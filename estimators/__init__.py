"""Private estimators in scikit-learn conventions, with a ledger of what they spent."""
