"""One-line privacy bugs, planted in copies of the code: does a test notice each of them?

``python -m tests.mutation`` plants them one after the other and runs the tests that should fail.
"""
