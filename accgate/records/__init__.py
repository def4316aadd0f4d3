"""Records of samples, their file, scores as arrays, clusters, and the fixed order of samples."""
