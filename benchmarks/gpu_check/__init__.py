"""`make gpu-check`: what a CUDA machine makes of the engine. Needs torch, transformers and numpy, nothing of ours.

Weights are random, at the sizes of the real models: times and bits do not depend on what the weights say.
"""
