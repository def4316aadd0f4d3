"""Prompts to replies to scored records: a bounded number in flight, each record written as it finishes.

A run that was stopped goes on from its records, may end early, may be split into shards, and may reuse cached replies.
"""
