"""Charts of the HTML report.

They are pure functions from figures to SVG, each with a sentence for readers who cannot see it.
"""
