"""The cache of earlier runs' replies, and what a reply depends on."""
