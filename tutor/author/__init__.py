"""Writing lessons: finding faults, proving what lessons promise, and the packs they come in."""
