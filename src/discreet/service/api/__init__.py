"""The JSON API in three parts: for everybody, for a person about themselves, for the operator."""
