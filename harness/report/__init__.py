"""What is made of the records of a comparison: the terminal table, Markdown, CSV and JSON."""
