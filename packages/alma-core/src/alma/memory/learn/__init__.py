"""Records outcomes and other memories, and learns from them."""
