"""The version, and whose it is.

Nothing else may be imported for these.
"""

__version__ = "0.1.0"
REPOSITORY = "org/accgate"  # `.ci/organisation NAME` changes it everywhere
