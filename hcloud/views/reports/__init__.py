"""Reports on a screen, as documents, FOCUS files and pages."""
