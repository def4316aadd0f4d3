"""Named tests on arrays of scores, without any I/O.

Every function works on the difference candidate minus reference, in points, with higher better; the caller negates
lower-is-better scores once.
"""
