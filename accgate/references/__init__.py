"""The reference store: find, read, match and write references, and the anchors that drift is counted from."""
