"""Vector instructions written out: README.md in this folder says what each file is for."""
