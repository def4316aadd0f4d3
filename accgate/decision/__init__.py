"""The decision of checks.

It chooses the test that suits a check's evidence, and gives its verdict at the alpha that several checks leave it. It
also says whether a running check may stop, how near it is to that, and by which path a verdict came about.
"""
