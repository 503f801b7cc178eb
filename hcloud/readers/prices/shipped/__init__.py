"""The price tables that ship with hcloud, as a book."""
