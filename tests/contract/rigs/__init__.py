"""One rig a file: a provider wired to the fake that judges it. The file's RIG is its class."""
