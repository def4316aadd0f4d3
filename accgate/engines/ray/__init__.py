"""The engine `ray`: replicas of another engine over a Ray cluster."""
