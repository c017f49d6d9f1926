"""What one of Kafka's configurations takes, in words."""

from cluster_model.protocol.config_key import INT_MAX, ConfigKey


def taken(key: ConfigKey) -> str:
    """What a configuration may be set to."""
    if key.type == "bool":
        return "true or false"
    if key.type == "ratio":
        return "0 to 1"
    if key.type == "str":
        return " | ".join(key.choices) or key.form
    return f"{key.low} or more" if key.high >= INT_MAX else f"{key.low} to {key.high}"
