"""One self-contained page of HTML: headings, words, pictures and tables, readable anywhere."""
