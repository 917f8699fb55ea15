"""What the language server and the decoder say to each other, and how they find each other.

The only part of the decoder that `lsp_server` may import: it needs neither torch nor numpy.
"""
