"""Shards, each a part of a run's samples.

The modules split the samples, describe a shard's run, read the other shards of a shared folder, and join all of them.
"""
