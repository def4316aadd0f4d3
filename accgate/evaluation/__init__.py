"""Prompts to replies to scored records.

A bounded number is in flight, and each record is written as it finishes. A run that was stopped goes on from its
records, may end early, may be split into shards, and may reuse cached replies.
"""
