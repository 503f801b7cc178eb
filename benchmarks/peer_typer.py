"""The yardstick for start-up: a Typer application of two commands with one option each."""

from __future__ import annotations

import typer

app = typer.Typer()


@app.command()
def greet(name: str = "you") -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")


@app.command()
def count(to: int = 3) -> None:
    """Count up."""
    typer.echo(" ".join(map(str, range(to))))


def main() -> None:
    """Run the application, as an installed console script would."""
    app()


if __name__ == "__main__":
    main()
