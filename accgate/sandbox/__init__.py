"""Programs nobody has read, run apart.

Each is in a process of its own, without network, secrets or files of others. The modules that the worker loads import
nothing else of accgate's.
"""
