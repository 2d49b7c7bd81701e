"""What people read: one file per form, all of them over the same view."""
