"""New texts for a kernel: candidates by recipes and by a language model.

Takes a source, a finding and the facts, gives candidates, advice or a refusal. Never compiles and never judges.
"""
