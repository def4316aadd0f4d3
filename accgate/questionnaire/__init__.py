"""People as judges, with a page to rate answers and a verdict.

The page hides which side gave which answer.
"""
