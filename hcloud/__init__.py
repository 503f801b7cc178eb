"""hcloud: plan, buy and run the right mix of reserved, on-demand and spot capacity."""

__version__ = "0.1.0"

_IN_NOTEBOOKS = ("plan", "read", "report", "simulate")


def __getattr__(name: str) -> object:
    """The functions for notebooks (docs/notebook.md), and the errors they raise, loaded when first asked for."""
    from importlib import import_module

    if name in _IN_NOTEBOOKS:
        return getattr(import_module("hcloud.notebook.api"), name)
    if name == "errors":
        return import_module("hcloud.errors")
    raise AttributeError(f"module 'hcloud' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completion offers."""
    return ["__version__", "errors", *_IN_NOTEBOOKS]
