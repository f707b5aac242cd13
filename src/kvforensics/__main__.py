"""`python -m kvforensics`."""

from kvforensics.cli import main

if __name__ == "__main__":
    main()
