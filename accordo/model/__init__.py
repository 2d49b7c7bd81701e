"""The words of a proof: what a verdict holds, and the list of its defences. Data only."""
