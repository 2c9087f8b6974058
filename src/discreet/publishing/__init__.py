"""Publishing over time: one way to publish, whatever keeps the ledger."""
