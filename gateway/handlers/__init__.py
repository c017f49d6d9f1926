"""What a request asks of the model, and how its answer reads on the wire."""
