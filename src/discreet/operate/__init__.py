"""The operator's programs, which the service starts beside itself: import, preview, publish.

They see everybody's ratings and may train; the service does not import them.
"""
