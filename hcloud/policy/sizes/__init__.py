"""How much a job is given and how many servers are reserved: as asked for, as needed, or as a target takes."""
