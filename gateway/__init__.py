"""Real Kafka clients on the wire: sockets in front of the modelled cluster. Everything behind them is the model."""
