"""What several recipes ask and do: thread numbering, edits of statements."""
