"""IFBench's 58 instructions, each checked as its authors' own code checks it."""
