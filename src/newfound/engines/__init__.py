"""Where predictions are computed: in this process or on a Ray cluster. Both use one `Predictor`."""
