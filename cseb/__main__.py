"""`python -m cseb` is `cseb`."""

from cseb.cli import main

if __name__ == "__main__":
    main()
