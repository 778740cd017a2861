"""The only training loop, what it trains, and what it minimises."""
