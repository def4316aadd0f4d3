"""What every published figure comes from, one command each."""
