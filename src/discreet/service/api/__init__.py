"""The API: what is public, what is a person's own, what is the operator's."""
