"""Job files for clusters: a Slurm array, an indexed Kubernetes Job, and a RayJob under Kueue."""
