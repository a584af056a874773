"""Where predictions are computed: in this process, on a Ray cluster, or in Spark. All of them use one `Predictor`."""
