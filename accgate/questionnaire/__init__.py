"""People rate answers.

Here are a blinded page to rate them on, and the verdict that the ratings give.
"""
