from .shard import Shard, samples_digest

__all__ = ["Shard", "samples_digest"]
