"""Trials that find which setting or commit lost answers.

A model is asked again beside itself with something changed. Nothing is recorded as a reference, and no verdict of a
gate depends on a trial.
"""
