"""A run in a browser of this machine.

It shows what is done while it goes on, and its report once it is decided.
"""
