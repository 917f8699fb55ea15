"""What stands behind `TorchModel`: a cache at fixed addresses, forward passes of fixed shape, CUDA graphs, loading."""
