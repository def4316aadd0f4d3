"""What people read: Markdown, the terminal, JUnit."""
