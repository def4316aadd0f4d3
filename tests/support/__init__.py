"""Servers, launchers, gates and data that many tests share."""
