"""Methods of the commands: from counts to a Result."""
