"""autograd-tutor: shows what PyTorch autograd really did, and teaches from it."""

__version__ = "0.1.0"
