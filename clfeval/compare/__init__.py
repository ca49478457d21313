"""How far two sides lie apart, whether that may be chance, and what it is called."""
