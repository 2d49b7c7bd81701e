"""The state of one editor session: the server, its settings, what is known of each project."""
