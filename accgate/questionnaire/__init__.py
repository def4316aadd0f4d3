"""People as judges: a page on which they rate answers unseen, and the verdict of their ratings."""
