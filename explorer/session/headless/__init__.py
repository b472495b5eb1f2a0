"""Work without a window: what the command line does with an engine, and how it reports it."""
