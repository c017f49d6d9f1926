"""Which partition a producer sends a record to, by the rules of each generation of Kafka's producer."""
