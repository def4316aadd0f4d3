"""People rate answers: a blinded page to rate them on, and the verdict that the ratings give."""
