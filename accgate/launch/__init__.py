"""Job files for clusters.

They are a Slurm array, an indexed Kubernetes Job, and a RayJob under Kueue.
"""
