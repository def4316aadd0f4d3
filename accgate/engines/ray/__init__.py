"""The engine `ray`, which runs replicas of another engine over a Ray cluster."""
