"""Encoders as ONNX graphs, which ONNX Runtime runs on a CPU faster than torch: building, storing and running them.

`graph` builds the graph of an encoder, and an int8 one of it; `session` keeps graphs in the user's cache folder and
runs them, without torch; `engine` makes the session of a loaded encoder.
"""
