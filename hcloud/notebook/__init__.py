"""The Python API, for notebooks: the verbs as functions, and results that show themselves."""
