"""`discreet`, and `python -m discreet`: the command line, interrupted in words from the start."""

import sys


def main() -> None:
    """Run the command line; importing it takes time, in which somebody may press Ctrl-C."""
    try:
        from discreet.cli import main as run

        run()
    except KeyboardInterrupt:
        print("\nInterrupted: no file was left half-written.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
