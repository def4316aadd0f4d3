"""Replies of earlier runs.

Here is where they lie, and on what they depend.
"""
