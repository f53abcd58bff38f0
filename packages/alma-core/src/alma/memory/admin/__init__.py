"""Administration of a store: figures, history, forgetting, maintenance."""
