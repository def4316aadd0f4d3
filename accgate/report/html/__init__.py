"""The report of a run as one HTML page.

It has its verdicts explained, charts, and the samples that got worse side by side. The page loads nothing from
elsewhere and shows names, prompts and replies as text.
"""
