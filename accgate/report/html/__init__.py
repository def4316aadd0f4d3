"""The report of a run as one HTML page.

The page explains each verdict, draws charts, and lists the samples with both replies. It loads nothing from elsewhere,
and shows names, prompts and replies as text.
"""
