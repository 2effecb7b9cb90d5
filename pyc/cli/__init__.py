"""The commands of `python -m pyc`, one module each.

`add_parser(commands)` adds it to the parser, and its `run(options)` returns the exit status."""
