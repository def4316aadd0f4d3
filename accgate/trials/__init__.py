"""Trials that find which setting or commit lost answers.

A model is asked again beside itself with something changed. Nothing is recorded as a reference, and no gate's verdict
depends on a trial.
"""
