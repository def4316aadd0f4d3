"""People judge answers: a blinded page to rate them on, and what the ratings decide."""
