"""One self-contained page of tables, curves and where each number comes from."""
