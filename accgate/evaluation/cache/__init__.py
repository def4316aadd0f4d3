"""Replies of earlier runs: where they lie, and on what they depend."""
