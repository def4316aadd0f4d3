"""The reference store, which finds, reads, matches and writes references and their anchors."""
