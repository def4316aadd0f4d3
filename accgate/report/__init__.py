"""What people read, as Markdown, in the terminal, and as JUnit."""
