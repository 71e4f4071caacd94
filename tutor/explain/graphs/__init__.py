"""The graph made small: nodes in order, the modules that made them, repeated parts folded."""

from tutor.explain.graphs.folding import Box, Folded, Leaf, folded
from tutor.explain.graphs.order import ordered

__all__ = ["Box", "Folded", "Leaf", "folded", "ordered"]
