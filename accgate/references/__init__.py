"""The reference store.

It finds, reads, matches and writes references, and the anchors that drift is counted from.
"""
