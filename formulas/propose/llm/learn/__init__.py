"""What the rewriter learns: verified rewrites as demonstrations, and programs that DSPy's optimizers trained."""
