"""Safety properties of the protocol, one per file, each checked at the first event that can break it.

All of them are checked under every version. A version that never promised a property is known for its violations, and
the violation says so; what no version is known for is a mistake, of the model or of whoever broke it on purpose.
"""
