"""Trials: a model asked again beside itself with something changed, to find which setting or commit lost answers.

Nothing is recorded as a reference, and no verdict of a gate depends on a trial.
"""
