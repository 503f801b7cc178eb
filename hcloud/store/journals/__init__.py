"""The controller's journals: their lines, the file that lasts, and where a restart goes on."""
