"""The lens: what a captured attention kernel's steps mean, beside the float64 and the naive reference."""
