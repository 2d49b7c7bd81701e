"""What several recipes ask and do: index ranges, thread numbering, edits of statements."""
