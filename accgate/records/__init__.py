"""Records of samples, with their files, scores, clusters and order."""
