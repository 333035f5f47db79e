// End to end.
