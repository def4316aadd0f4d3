"""One line a sample: the run-record file, its scores as arrays, their clusters, and the fixed order of samples."""
