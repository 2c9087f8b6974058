"""Privacy: the specification, its personalisation, the noise, and what may be claimed."""
