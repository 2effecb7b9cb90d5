"""What runs compiled programs: native calls, the worker pool, memory that is used again."""
