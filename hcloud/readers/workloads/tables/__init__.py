"""Tables of text: read at full speed, checked, and searched for the line that is wrong."""
