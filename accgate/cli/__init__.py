"""The command line.

There is one table of commands in `main`, and a file for each command or family of commands. A command's options stand
beside the function that runs it, which imports what is heavy itself: start-up is a feature.
"""
