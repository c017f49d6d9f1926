"""What an operator does, step by step: requests that the admin client makes, and processes stopped and started."""
