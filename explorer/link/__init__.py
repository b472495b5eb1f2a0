"""Between the window and the engine process: typed messages, the engine's server, and the window's client."""
