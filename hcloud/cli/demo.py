"""``hcloud demo``: all of it in a minute."""
import typer
app = typer.Typer(pretty_exceptions_enable=False)
@app.command()
def demo() -> None:
    """x."""
