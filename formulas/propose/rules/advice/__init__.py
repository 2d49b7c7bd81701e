"""Rules that say what to change where no edit of one kernel can: they take a kernel and its launches, give Advice."""
