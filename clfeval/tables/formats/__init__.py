"""Formats of tables that tools write: one record each, in `tools`, recognised by `recognise`."""
