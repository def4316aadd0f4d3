"""Charts of the HTML report.

They are pure functions from figures to SVG, each with its text and a table of its figures.
"""
